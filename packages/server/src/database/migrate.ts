import { sql, type Kysely, type Transaction } from 'kysely';
import type { MigrationDialect } from './dialects.js';
import { DatabaseError } from './errors.js';
import { migrations as all } from './migrations/index.js';
import type { Migration } from './migrations/migration.js';
import type { Tables } from './tables.js';

export interface Migrating {
  readonly dialect: MigrationDialect;
  /** In errors. */
  readonly shown: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Those that exist, unless a test has its own. */
  readonly migrations?: readonly Migration[];
}

/** The newest migration that was made; undefined if nothing was begun. */
async function newest(db: Kysely<Tables>, { isBegun }: MigrationDialect): Promise<number | undefined> {
  if ((await isBegun.execute(db)).rows.length === 0) return undefined;
  const row = await db
    .selectFrom('migrations')
    .select(({ fn }) => fn.max('number').as('number'))
    .executeTakeFirst();
  return row?.number ?? 0;
}

/**
 * Brings the tables to what this version needs, each step in a transaction of its own. Any number of servers may do so at once: they take
 * turns, and each step is made once. It goes forward only, and costs one or two short queries if nothing is to be done.
 *
 * @throws DatabaseError `newer` if a newer Headgate has been here; any other if the database cannot be used
 */
export async function migrate(db: Kysely<Tables>, { dialect, shown, now, migrations = all }: Migrating): Promise<void> {
  const known = migrations.length;

  function isLatest(made: number | undefined): boolean {
    if (made !== undefined && made > known) {
      throw new DatabaseError(
        'newer',
        `${shown}: a newer Headgate made its tables (migration ${made}; this one knows ${known}); use that version or a later one, they never go back`,
      );
    }
    return made === known;
  }

  async function step(trx: Transaction<Tables>): Promise<boolean> {
    for (const statement of dialect.lock) await statement.execute(trx);
    const made = await newest(trx, dialect);
    if (isLatest(made)) return true;
    const next = migrations[made ?? 0];
    if (next === undefined || next.number !== (made ?? 0) + 1) throw new Error(`there is no migration number ${(made ?? 0) + 1}`);
    if (made === undefined) {
      const { integer, options } = dialect.words;
      const table = `create table migrations (
  number ${integer} primary key,
  name text not null,
  applied_at ${integer} not null
)${options}`;
      for (const statement of [...dialect.begin, sql.raw(table)]) await statement.execute(trx);
    }
    for (const statement of next.statements(dialect.words)) await sql.raw(statement).execute(trx);
    await trx.insertInto('migrations').values({ number: next.number, name: next.name, applied_at: now() }).execute();
    return next.number === known;
  }

  if (isLatest(await newest(db, dialect))) return;
  while (!(await db.transaction().execute(step)));
}
