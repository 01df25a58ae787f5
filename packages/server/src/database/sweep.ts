import { sql } from 'kysely';
import { checkWhole } from '../rules/inputs.js';
import type { Writing } from './writing.js';

/** What ends, by table: when, and what makes a row one. */
const ending = [
  { table: 'plans', end: 'until', key: ['customer'] },
  { table: 'overrides', end: 'until', key: ['rule', 'customer'] },
  { table: 'exemptions', end: 'until', key: ['rule', 'kind', 'subject'] },
  { table: 'quota_checkpoints', end: 'period_end', key: ['rule', 'key', 'period_end'] },
] as const;

/**
 * Removes what has ended, at most `limit` rows of each table (1 to 10,000), each in a short transaction. Answers how many; if that is
 * less than `limit`, nothing is left. Any server may do it at any time: nobody answers what has ended.
 *
 * @throws InputError, DatabaseError
 */
export async function sweepEnded({ db, now }: Writing, limit: number): Promise<number> {
  const most = checkWhole('limit', limit, [1, 10_000]);
  let removed = 0n;
  for (const { table, end, key } of ending) {
    const columns = sql.join(key.map((column) => sql.ref(column)));
    const [from, at] = [sql.table(table), sql.ref(end)];
    const { numAffectedRows = 0n } = await sql`delete from ${from} where (${columns}) in
      (select ${columns} from ${from} where ${at} <= ${now()} limit ${most})`.execute(db);
    removed += numAffectedRows;
  }
  return Number(removed);
}
