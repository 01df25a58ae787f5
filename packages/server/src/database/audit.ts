import type { Transaction } from 'kysely';
import { checkText, checkWhole, lengths } from '../rules/inputs.js';
import type { AuditRepository } from '../rules/records.js';
import type { Tables } from './tables.js';
import type { Writing } from './writing.js';

interface Act {
  readonly at: number;
  readonly who: string;
  readonly what: string;
  readonly version?: number;
  readonly detail: object;
}

/** In the transaction of what it tells of: there is none without the other. */
export async function recordAudit(trx: Transaction<Tables>, { version, detail, ...act }: Act): Promise<void> {
  await trx
    .insertInto('audit')
    .values({ ...act, version: version ?? null, detail: JSON.stringify(detail) })
    .execute();
}

export interface Recorded {
  readonly by: string;
  readonly what: string;
  readonly detail: object;
}

/** Runs `write` in a transaction with a row of the audit, unless it answers that there was nothing to do. */
export async function recorded(
  { db, now }: Writing,
  { by, what, detail }: Recorded,
  write: (trx: Transaction<Tables>, note: { readonly set_by: string; readonly set_at: number }) => Promise<boolean>,
): Promise<boolean> {
  const who = checkText('by', by, lengths.author);
  const at = now();
  return db.transaction().execute(async (trx) => {
    const isDone = await write(trx, { set_by: who, set_at: at });
    if (isDone) await recordAudit(trx, { at, who, what, detail });
    return isDone;
  });
}

export function auditRepository({ db, now }: Pick<Writing, 'db' | 'now'>): AuditRepository {
  return {
    async add({ by, what, detail }) {
      const who = checkText('by', by, lengths.author);
      await db.transaction().execute((trx) => recordAudit(trx, { at: now(), who, what, detail }));
    },
    async list({ limit, before, who }) {
      let query = db
        .selectFrom('audit')
        .selectAll()
        .orderBy('id', 'desc')
        .limit(checkWhole('limit', limit, lengths.page));
      if (before !== undefined) query = query.where('id', '<', checkWhole('before', before, [0, Number.MAX_SAFE_INTEGER]));
      if (who !== undefined) query = query.where('who', '=', checkText('who', who, lengths.author));
      const rows = await query.execute();
      return rows.map(({ version, detail, ...row }) => ({
        ...row,
        ...(version === null ? undefined : { version }),
        detail: JSON.parse(detail) as unknown,
      }));
    },
  };
}
