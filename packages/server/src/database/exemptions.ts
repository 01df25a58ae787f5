import { trustProxies } from 'headgate/http';
import type { Exemption, ExemptionsRepository } from '../rules/exceptions.js';
import { checkOneOf, checkText, checkUntil, checkWhole, InputError, lengths } from '../rules/inputs.js';
import { recorded } from './audit.js';
import { assertRoom, comesAfter, holds } from './ending.js';
import { assertRuleOrEvery } from './rule-names.js';
import type { Tables } from './tables.js';
import type { Writing } from './writing.js';

export const exemptionOf = ({ set_by, set_at, ...row }: Tables['exemptions']): Exemption => ({ ...row, by: set_by, at: set_at });

function subjectOf(kind: Exemption['kind'], subject: unknown): string {
  const text = checkText('subject', subject, lengths.key);
  if (kind === 'key') return text;
  try {
    trustProxies([text]);
  } catch {
    throw new InputError('subject', `expected addresses such as 10.0.0.0/8 or 2001:db8::/32; got ${JSON.stringify(text)}`);
  }
  return text;
}

export function exemptionsRepository(writing: Writing): ExemptionsRepository {
  const { db, now } = writing;
  return {
    async list({ limit, after }) {
      const most = checkWhole('limit', limit, lengths.page);
      let query = db
        .selectFrom('exemptions')
        .selectAll()
        .where(holds(now()))
        .orderBy('rule')
        .orderBy('kind')
        .orderBy('subject')
        .limit(most);
      if (after !== undefined) {
        for (const [name, text] of Object.entries(after)) checkText(name, text, lengths.key);
        query = query.where(comesAfter(['rule', 'kind', 'subject'], [after.rule, after.kind, after.subject]));
      }
      return (await query.execute()).map(exemptionOf);
    },
    async set({ by, rule, ...given }) {
      const kind = checkOneOf('kind', given.kind, ['key', 'cidr']);
      const subject = subjectOf(kind, given.subject);
      const reason = checkText('reason', given.reason, lengths.reason);
      const until = checkUntil(given.until, now());
      await recorded(writing, { by, what: 'exemption.set', detail: { rule, kind, subject, reason, until } }, async (trx, note) => {
        await assertRuleOrEvery(trx, rule);
        const row = { reason, until, ...note };
        await trx
          .insertInto('exemptions')
          .values({ rule, kind, subject, ...row })
          .onConflict((conflict) => conflict.columns(['rule', 'kind', 'subject']).doUpdateSet(row))
          .execute();
        await assertRoom(trx, 'exemptions', 'exempt wider addresses, or give those keys a plan without limits');
        return true;
      });
    },
    remove({ by, rule, kind, subject }) {
      checkText('rule', rule, [1, 128]);
      checkText('subject', subject, lengths.key);
      return recorded(writing, { by, what: 'exemption.remove', detail: { rule, kind, subject } }, async (trx) => {
        const query = trx.deleteFrom('exemptions').where('rule', '=', rule).where('kind', '=', kind).where('subject', '=', subject);
        return (await query.executeTakeFirst()).numDeletedRows > 0n;
      });
    },
  };
}
