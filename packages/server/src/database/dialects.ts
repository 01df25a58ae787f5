import { sql, type RawBuilder } from 'kysely';
import type { DatabaseAddress, PostgresAddress } from './address.js';
import { postgresWords, sqliteWords, type Words } from './migrations/migration.js';

/** What of migrating differs between the databases. */
export interface MigrationDialect {
  readonly words: Words;
  /** Answers one row if the table of migrations is there. */
  readonly isBegun: RawBuilder<unknown>;
  /** First in the transaction of every step: the others wait here. SQLite's transactions are one at a time by themselves. */
  readonly lock: readonly RawBuilder<unknown>[];
  /** Also there, if nothing is begun. */
  readonly begin: readonly RawBuilder<unknown>[];
}

/** A number that nobody else uses: "headgate" in ASCII. */
const lockNumber = '7522525836451345509';

const postgres = ({ schema }: PostgresAddress): MigrationDialect => ({
  words: postgresWords,
  // Out of the tables themselves: to_regclass() may answer from a cache that what was made while we waited for the lock is not in.
  isBegun: sql`select 1 as begun from pg_catalog.pg_tables where schemaname = ${schema} and tablename = 'migrations'`,
  lock: [sql`select pg_advisory_xact_lock(${sql.raw(lockNumber)})`],
  // Only if it is not there: one who may not make schemas can be given a schema.
  begin: [
    sql.raw(`do $$ begin
      if not exists (select from pg_catalog.pg_namespace where nspname = '${schema}') then create schema ${schema}; end if;
    end $$`),
  ],
});

const sqlite: MigrationDialect = {
  words: sqliteWords,
  isBegun: sql`select 1 as begun from sqlite_master where type = 'table' and name = 'migrations'`,
  lock: [],
  begin: [],
};

export const migrationDialect = (address: DatabaseAddress): MigrationDialect => (address.kind === 'postgres' ? postgres(address) : sqlite);
