import type { Shadow, ShadowsRepository } from '../rules/exceptions.js';
import { checkText, InputError } from '../rules/inputs.js';
import { recorded } from './audit.js';
import { assertRuleOrEvery } from './rule-names.js';
import type { Tables } from './tables.js';
import type { Writing } from './writing.js';

export const shadowOf = ({ rule, is_on, set_by, set_at }: Tables['shadows']): Shadow => ({ rule, on: is_on === 1, by: set_by, at: set_at });

export function shadowsRepository(writing: Writing): ShadowsRepository {
  const { db } = writing;
  return {
    list: async () => (await db.selectFrom('shadows').selectAll().orderBy('rule').execute()).map(shadowOf),
    async set({ by, rule, on }) {
      if (typeof on !== 'boolean') throw new InputError('on', `expected true or false; got ${JSON.stringify(on)}`);
      await recorded(writing, { by, what: 'shadow.set', detail: { rule, on } }, async (trx, note) => {
        await assertRuleOrEvery(trx, rule);
        const row = { is_on: on ? (1 as const) : (0 as const), ...note };
        await trx
          .insertInto('shadows')
          .values({ rule, ...row })
          .onConflict((conflict) => conflict.column('rule').doUpdateSet(row))
          .execute();
        return true;
      });
    },
    remove({ by, rule }) {
      checkText('rule', rule, [1, 128]);
      return recorded(writing, { by, what: 'shadow.remove', detail: { rule } }, async (trx) => {
        const { numDeletedRows } = await trx.deleteFrom('shadows').where('rule', '=', rule).executeTakeFirst();
        return numDeletedRows > 0n;
      });
    },
  };
}
