import type { Override, OverridesRepository } from '../rules/exceptions.js';
import { checkText, checkUntil, checkWhole, InputError, lengths } from '../rules/inputs.js';
import { atOnce } from '../rules/slices.js';
import { checkStored } from '../rules/stored-set.js';
import { recorded } from './audit.js';
import { assertRoom, comesAfter, holds } from './ending.js';
import { findRule } from './rule-names.js';
import type { Tables } from './tables.js';
import type { Writing } from './writing.js';

export const overrideOf = ({ body, set_by, set_at, ...row }: Tables['overrides']): Override => ({
  ...row,
  limit: JSON.parse(body) as unknown,
  by: set_by,
  at: set_at,
});

/**
 * The limit as JSON, if the rule as it is could have it, or any rule where there is none; of that, what it matches and its plans say nothing.
 *
 * @throws RulesError, InputError
 */
function limitText(rule: string, body: string | undefined, limit: unknown): string {
  const text = JSON.stringify(limit) as string | undefined;
  if (text === undefined || text.length > 1000)
    throw new InputError('limit', 'expected a limit as a rules file says it; got none, or one too long');
  const { match: _match, key: _key, missingKey: _missing, plans: _plans, ...own } = JSON.parse(body ?? '{}') as Record<string, unknown>;
  const asIf = { ...own, limit: JSON.parse(text) as unknown };
  atOnce(checkStored({ rules: new Map([[rule, asIf]]), blocks: new Map() }, { from: 'override' }));
  return text;
}

export function overridesRepository(writing: Writing): OverridesRepository {
  const { db, now } = writing;
  return {
    async list({ limit, after, rule, customer }) {
      const most = checkWhole('limit', limit, lengths.page);
      let query = db.selectFrom('overrides').selectAll().where(holds(now())).orderBy('rule').orderBy('customer').limit(most);
      if (rule !== undefined) query = query.where('rule', '=', checkText('rule', rule, [1, 128]));
      if (customer !== undefined) query = query.where('customer', '=', checkText('customer', customer, lengths.key));
      if (after !== undefined) {
        checkText('after', after.rule, [1, 128]);
        checkText('after', after.customer, lengths.key);
        query = query.where(comesAfter(['rule', 'customer'], [after.rule, after.customer]));
      }
      return (await query.execute()).map(overrideOf);
    },
    async set({ by, rule, limit, ...given }) {
      const customer = checkText('customer', given.customer, lengths.key);
      const until = checkUntil(given.until, now());
      await recorded(writing, { by, what: 'override.set', detail: { rule, customer, limit, until } }, async (trx, note) => {
        const row = { body: limitText(rule, await findRule(trx, rule), limit), until, ...note };
        await trx
          .insertInto('overrides')
          .values({ rule, customer, ...row })
          .onConflict((conflict) => conflict.columns(['rule', 'customer']).doUpdateSet(row))
          .execute();
        await assertRoom(trx, 'overrides', 'make a plan of those that are alike');
        return true;
      });
    },
    remove({ by, rule, customer }) {
      checkText('rule', rule, [1, 128]);
      checkText('customer', customer, lengths.key);
      return recorded(writing, { by, what: 'override.remove', detail: { rule, customer } }, async (trx) => {
        const query = trx.deleteFrom('overrides').where('rule', '=', rule).where('customer', '=', customer);
        return (await query.executeTakeFirst()).numDeletedRows > 0n;
      });
    },
  };
}
