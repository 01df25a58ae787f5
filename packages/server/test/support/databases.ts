import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import { postgres, startPostgres, type PostgresServer } from '../../../../test/support/postgres.js';
import { readDatabaseUrl } from '../../src/database/address.js';
import { openDatabase, type Database, type DatabaseOptions } from '../../src/database/open.js';
import { later, temporary } from './service.js';

/** A database that a test has for itself. */
export interface TestDatabase {
  readonly url: string;
  /** A table as somebody names it who has no schema of ours on the search path. */
  table(name: string): string;
  /** A connection of its own, as another server has it; closed after the test. */
  open(options?: DatabaseOptions): Database;
  /** Writes as somebody does who is not Headgate. */
  byHand(statement: string): Promise<Record<string, unknown>[]>;
  /** The database is away, until it is back. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
}

export interface Kind {
  readonly name: 'sqlite' | 'postgres';
  /** Why there is none here. */
  readonly missing: string | undefined;
  fresh(): Promise<TestDatabase>;
  /** The server of PostgreSQL, where a test has to look behind. */
  server(): Promise<PostgresServer>;
}

export function opened(url: string, options?: DatabaseOptions): Database {
  const database = openDatabase(readDatabaseUrl(url), options);
  later(() => database.close());
  return database;
}

const parts = ['', '-wal', '-shm'];

function moveAll(from: string, to: string): void {
  for (const part of parts) if (existsSync(from + part)) renameSync(from + part, to + part);
}

const sqlite: Kind = {
  name: 'sqlite',
  missing: undefined,
  server: () => Promise.reject(new Error('SQLite has no server')),
  async fresh() {
    const file = join(temporary(), 'rules.db');
    const url = `sqlite:${file}`;
    return {
      url,
      table: (name) => name,
      open: (options) => opened(url, options),
      async byHand(statement) {
        const { default: Libsql } = await import('libsql');
        const connection = new Libsql(file, { timeout: 2000 });
        const prepared = connection.prepare(statement);
        const rows = prepared.reader ? prepared.all() : (prepared.run(), []);
        connection.close();
        return rows as Record<string, unknown>[];
      },
      async goAway() {
        moveAll(file, `${file}.away`);
        later(() => moveAll(`${file}.away`, file));
      },
      comeBack: async () => moveAll(`${file}.away`, file),
    };
  },
};

const programs = postgres();
let started: Promise<PostgresServer> | undefined;
const server = (): Promise<PostgresServer> => (started ??= startPostgres('folder' in programs ? programs.folder : ''));

export const postgresql: Kind = {
  name: 'postgres',
  missing: 'reason' in programs ? programs.reason : undefined,
  server,
  async fresh() {
    const { createDatabase, url: urlOf, query, stop, start } = await server();
    const name = await createDatabase();
    const url = urlOf(name);
    return {
      url,
      table: (table) => `headgate.${table}`,
      open: (options) => opened(url, options),
      byHand: (statement) => query(statement, name),
      async goAway() {
        await stop();
        // For the next test.
        later(start);
      },
      comeBack: start,
    };
  },
};

afterAll(async () => {
  await (await started)?.remove();
});

/** The same tests for both; where there is no PostgreSQL, they are skipped with the reason in their name. */
export function describeBoth(title: string, tests: (kind: Kind) => void): void {
  for (const kind of [sqlite, postgresql]) {
    const { name, missing } = kind;
    describe.skipIf(missing !== undefined)(`${title} (${name}${missing === undefined ? '' : `; skipped: ${missing}`})`, () => tests(kind));
  }
}
