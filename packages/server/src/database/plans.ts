import { checkText, checkUntil, checkWhole, lengths } from '../rules/inputs.js';
import type { CustomerPlan, PlansRepository } from '../rules/exceptions.js';
import { recorded } from './audit.js';
import { assertRoom, holds } from './ending.js';
import type { Tables } from './tables.js';
import type { Writing } from './writing.js';

export const planOf = ({ set_by, set_at, ...row }: Tables['plans']): CustomerPlan => ({ ...row, by: set_by, at: set_at });

export function plansRepository(writing: Writing): PlansRepository {
  const { db, now } = writing;
  return {
    async of(customer) {
      checkText('customer', customer, lengths.key);
      const row = await db.selectFrom('plans').selectAll().where('customer', '=', customer).where(holds(now())).executeTakeFirst();
      return row && planOf(row);
    },
    async list({ limit, after }) {
      let query = db
        .selectFrom('plans')
        .selectAll()
        .where(holds(now()))
        .orderBy('customer')
        .limit(checkWhole('limit', limit, lengths.page));
      if (after !== undefined) query = query.where('customer', '>', checkText('after', after, lengths.key));
      return (await query.execute()).map(planOf);
    },
    async set({ by, ...given }) {
      const customer = checkText('customer', given.customer, lengths.key);
      const plan = checkText('plan', given.plan, lengths.plan);
      const until = checkUntil(given.until, now());
      await recorded(writing, { by, what: 'plan.set', detail: { customer, plan, until } }, async (trx, note) => {
        const row = { plan, until, ...note };
        await trx
          .insertInto('plans')
          .values({ customer, ...row })
          .onConflict((conflict) => conflict.column('customer').doUpdateSet(row))
          .execute();
        await assertRoom(trx, 'plans', 'give the plan with each check instead');
        return true;
      });
    },
    remove({ by, customer }) {
      checkText('customer', customer, lengths.key);
      return recorded(writing, { by, what: 'plan.remove', detail: { customer } }, async (trx) => {
        const { numDeletedRows } = await trx.deleteFrom('plans').where('customer', '=', customer).executeTakeFirst();
        return numDeletedRows > 0n;
      });
    },
  };
}
