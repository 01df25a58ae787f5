import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Kysely } from 'kysely';
import { expect, it } from 'vitest';
import { nextMessage } from '../../../test/support/worker-message.js';
import { readDatabaseUrl, type PostgresAddress, type SqliteAddress } from '../src/database/address.js';
import { migrationDialect } from '../src/database/dialects.js';
import { migrate } from '../src/database/migrate.js';
import { migrations } from '../src/database/migrations/index.js';
import type { Migration } from '../src/database/migrations/migration.js';
import { connectionOptions, postgresDialect } from '../src/database/postgres-pool.js';
import { sqliteDialect } from '../src/database/sqlite-dialect.js';
import type { Tables } from '../src/database/tables.js';
import { describeBoth } from './support/databases.js';
import { dumpOf } from './support/schema-dump.js';
import { later } from './support/service.js';

const worker = fileURLToPath(new URL('support/open-database.mjs', import.meta.url));
const [processes, servers] = [5, 4];

function kyselyOf(url: string): Kysely<Tables> {
  const address = readDatabaseUrl(url) as SqliteAddress | PostgresAddress;
  const dialect =
    address.kind === 'sqlite'
      ? sqliteDialect({ file: address.file, shown: 'x', mayCreate: true })
      : postgresDialect({ options: connectionOptions(address), shown: 'x', most: 1 });
  const db = new Kysely<Tables>({ dialect });
  later(() => db.destroy());
  return db;
}

function migrating(url: string, some: readonly Migration[] = migrations) {
  const dialect = migrationDialect(readDatabaseUrl(url));
  return { dialect, shown: 'the database', now: () => 1, migrations: some };
}

describeBoth('migrations', (kind) => {
  it('are made once by twenty servers at the same time, in five processes, whose first changes are all there', async () => {
    const database = await kind.fresh();
    const children = Array.from({ length: processes }, () => fork(worker));
    later(() => children.forEach((child) => child.kill('SIGKILL')));
    await Promise.all(children.map(nextMessage));
    const answers = children.map(nextMessage);
    for (const child of children) child.send({ url: database.url, servers });
    const versions = (await Promise.all(answers)).flat() as number[];
    expect(versions.sort((a, b) => a - b)).toEqual(Array.from({ length: processes * servers }, (_, index) => index + 1));
    const current = await database.open().rules.current();
    expect([current.version, current.rules.size]).toEqual([processes * servers, processes * servers]);
    const made = await database.byHand(`select number, name from ${database.table('migrations')} order by number`);
    expect(made.map(({ name }) => name)).toEqual(migrations.map(({ name }) => name));
  });

  it('make what the schema in the repository says', async () => {
    const database = await kind.fresh();
    await database.open().ready();
    // After a new migration: npx vitest run packages/server/test/database-migrations.test.ts -u
    await expect(await dumpOf(kind.name, database)).toMatchFileSnapshot(`../src/database/schema/${kind.name}.sql`);
  });

  it('go on from where an older version had come, each step whole or not at all', async () => {
    const { url, byHand, table } = await kind.fresh();
    const db = kyselyOf(url);
    const broken: Migration = { number: 3, name: 'broken', statements: () => ['create table half (a text)', 'create table half (a text)'] };
    await migrate(db, migrating(url, migrations.slice(0, 2)));
    await expect(migrate(db, migrating(url, [...migrations.slice(0, 2), broken]))).rejects.toThrow(/half/);
    await expect(byHand(`select * from ${table('half')}`)).rejects.toThrow();
    await migrate(db, migrating(url));
    expect(await byHand(`select number from ${table('migrations')}`)).toHaveLength(migrations.length);
  });

  it('never go back: a database of a newer version is refused, and told why', async () => {
    const database = await kind.fresh();
    const newer: Migration = { number: migrations.length + 1, name: 'newer', statements: () => [] };
    await migrate(kyselyOf(database.url), migrating(database.url, [...migrations, newer]));
    await expect(database.open().ready()).rejects.toMatchObject({
      name: 'DatabaseError',
      trouble: 'newer',
      message: expect.stringMatching(/a newer Headgate made its tables \(migration 5; this one knows 4\); use that version/),
    });
  });
});

it('migrations have numbers from 1 on, without gaps', () => {
  expect(migrations.map(({ number }) => number)).toEqual(migrations.map((_, index) => index + 1));
});
