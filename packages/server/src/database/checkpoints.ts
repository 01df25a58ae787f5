import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { checkText, checkWhole, lengths } from '../rules/inputs.js';
import type { CheckpointsRepository, QuotaCheckpoint } from '../rules/records.js';
import { comesAfter } from './ending.js';
import type { Tables } from './tables.js';
import type { Writing } from './writing.js';

/** Rows in one statement, which is a transaction by itself: two servers that save the same counters never hold what the other waits for. */
const chunk = 500;

type Row = Tables['quota_checkpoints'];
type Id = Pick<QuotaCheckpoint, 'rule' | 'key' | 'periodEnd'>;
type Saved = Parameters<CheckpointsRepository['save']>[0][number];

const any = [0, Number.MAX_SAFE_INTEGER] as const;
const hashed = '#sha256:';

/** Keys as the database can have them in an index: one that is long, or not text to PostgreSQL, is its hash. */
const keyOf = (key: string): string =>
  key.length > lengths.key[1] || key.includes('\0') || key.startsWith(hashed)
    ? `${hashed}${createHash('sha256').update(key).digest('base64url')}`
    : checkText('key', key, lengths.key);

const rowOf = ({ rule, key, periodEnd, used, takenAt }: QuotaCheckpoint): Row => ({
  rule: checkText('rule', rule, [1, 128]),
  key: keyOf(key),
  period_end: checkWhole('periodEnd', periodEnd, any),
  used: checkWhole('used', used, any),
  taken_at: checkWhole('takenAt', takenAt, any),
});

const idOf = ({ rule, key, period_end }: Pick<Row, 'rule' | 'key' | 'period_end'>): string => JSON.stringify([rule, key, period_end]);

const checkpointOf = ({ period_end, taken_at, ...row }: Row): QuotaCheckpoint => ({ ...row, periodEnd: period_end, takenAt: taken_at });

/** One for each counter, the latest, as one statement may touch a row only once; in one order, so that no two servers wait for each other. */
function latest(checkpoints: readonly Saved[]): Row[] {
  const rows = new Map<string, Row>();
  for (const checkpoint of checkpoints) {
    const row = rowOf(checkpoint);
    const id = idOf(row);
    if ((rows.get(id)?.taken_at ?? -1) <= row.taken_at) rows.set(id, row);
  }
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

/** What becomes of the units that are there. */
const used = {
  lowered: sql<number>`excluded.used`,
  raised: sql<number>`case when excluded.used > quota_checkpoints.used then excluded.used else quota_checkpoints.used end`,
};

export function checkpointsRepository({ db, now }: Writing): CheckpointsRepository {
  async function save(rows: readonly Row[], kind: keyof typeof used): Promise<void> {
    for (let start = 0; start < rows.length; start += chunk) {
      await db
        .insertInto('quota_checkpoints')
        .values(rows.slice(start, start + chunk))
        .onConflict((conflict) =>
          conflict
            .columns(['rule', 'key', 'period_end'])
            .doUpdateSet(({ ref }) => ({ used: used[kind], taken_at: ref('excluded.taken_at') }))
            .where(sql.ref('excluded.taken_at'), '>=', sql.ref('quota_checkpoints.taken_at')),
        )
        .execute();
    }
  }

  /** Few rules and periods come together, with many keys each. SQLite knows no lists of rows. */
  function saved(ids: readonly Id[]): Promise<Row[]> {
    const groups = new Map<string, { rule: string; periodEnd: number; keys: string[] }>();
    for (const { rule, key, periodEnd } of ids) {
      const name = JSON.stringify([rule, periodEnd]);
      const group = groups.get(name) ?? { rule, periodEnd, keys: [] };
      group.keys.push(keyOf(key));
      groups.set(name, group);
    }
    return db
      .selectFrom('quota_checkpoints')
      .selectAll()
      .where(({ or, and, eb }) =>
        or(
          [...groups.values()].map(({ rule, periodEnd, keys }) =>
            and([eb('rule', '=', rule), eb('period_end', '=', periodEnd), eb('key', 'in', keys)]),
          ),
        ),
      )
      .execute();
  }

  return {
    async save(checkpoints) {
      const [lowered, raised] = [true, false].map((is) => latest(checkpoints.filter((one) => (one.lowered ?? false) === is)));
      await save(lowered ?? [], 'lowered');
      await save(raised ?? [], 'raised');
    },
    async find(all) {
      const found = new Map<string, QuotaCheckpoint>();
      for (let start = 0; start < all.length; start += chunk) {
        const rows = await saved(all.slice(start, start + chunk));
        for (const row of rows) found.set(idOf(row), checkpointOf(row));
      }
      return all.map(({ rule, key, periodEnd }) => {
        const one = found.get(idOf({ rule, key: keyOf(key), period_end: periodEnd }));
        return one && { ...one, key };
      });
    },
    async list({ limit, after }) {
      let query = db.selectFrom('quota_checkpoints').selectAll().where('period_end', '>', now());
      query = query
        .orderBy('rule')
        .orderBy('key')
        .orderBy('period_end')
        .limit(checkWhole('limit', limit, lengths.page));
      if (after !== undefined) query = query.where(comesAfter(['rule', 'key', 'period_end'], [after.rule, after.key, after.periodEnd]));
      return (await query.execute()).map(checkpointOf);
    },
  };
}
