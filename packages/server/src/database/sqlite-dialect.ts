import { setTimeout as sleep } from 'node:timers/promises';
import {
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from 'kysely';
import { DatabaseError, explain } from './errors.js';
import { openSqliteFile, type SqliteFile } from './sqlite-file.js';

/** How long a statement waits for other processes, in milliseconds, and how long between attempts. */
const patienceMs = 10_000;
const longestPauseMs = 50;

const isBusy = (error: unknown): boolean => /^SQLITE_(BUSY|LOCKED)/.test(String((error as { code?: unknown }).code));

/** Tries until no other process is in the way. Between attempts this process goes on with its other work. */
async function patiently<T>(work: () => T): Promise<T> {
  const until = performance.now() + patienceMs;
  for (let pauseMs = 1; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error;
    }
    await sleep(pauseMs * (0.5 + Math.random()));
  }
}

/** One at a time: `take` waits for its turn and answers how to end it. */
function turns(): () => Promise<() => void> {
  let last = Promise.resolve();
  return async () => {
    const before = last;
    let done: () => void = () => undefined;
    last = new Promise((resolve) => (done = resolve));
    await before;
    return done;
  };
}

export interface SqliteOptions {
  readonly file: string;
  /** Names it in errors. */
  readonly shown: string;
  /** Whether a file that is not there is made; only at first: one that was there once and is gone is not an empty database. */
  readonly mayCreate: boolean;
}

/** Kysely's driver over one connection, which is opened when it is first used and again when the file was replaced. */
function driver({ file, shown, mayCreate }: SqliteOptions): Driver {
  const take = turns();
  let current: SqliteFile | undefined;
  let create = mayCreate;
  let endTurn: () => void = () => undefined;

  async function opened(): Promise<SqliteFile> {
    if (current?.isThere() === true) return current;
    current?.close();
    current = undefined;
    current = await patiently(() => openSqliteFile(file, create));
    create = false;
    return current;
  }

  async function told<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw explain(error, shown);
    }
  }

  const execute = (sql: string, parameters: readonly unknown[] = []): Promise<QueryResult<unknown>> =>
    told(async () => {
      const connection = current ?? (await opened());
      const run = () => connection.run(sql, parameters);
      const { rows, changes } = connection.inTransaction ? run() : await patiently(run);
      return { rows, numAffectedRows: BigInt(changes) };
    });

  const connection: DatabaseConnection = {
    executeQuery: <R>({ sql, parameters }: CompiledQuery) => execute(sql, parameters) as Promise<QueryResult<R>>,
    streamQuery() {
      throw new TypeError('nothing is streamed');
    },
  };

  return {
    init: () => Promise.resolve(),
    async acquireConnection() {
      const end = await take();
      try {
        await told(opened);
      } catch (error) {
        end();
        throw error;
      }
      endTurn = end;
      return connection;
    },
    // Immediate: one that begins by reading and then writes would fail if another wrote between.
    beginTransaction: async () => {
      await execute('begin immediate');
    },
    commitTransaction: async () => {
      // Into a file that nobody will open any more it would be lost in silence.
      if (current?.isThere() !== true)
        throw new DatabaseError('unreachable', `${shown}: the file was taken away while it was written to; nothing was written`);
      await execute('commit');
    },
    async rollbackTransaction() {
      // After some errors (disk full, I/O) SQLite has done it already.
      if (current?.inTransaction === true) await execute('rollback');
    },
    async releaseConnection() {
      endTurn();
    },
    async destroy() {
      const end = await take();
      current?.close();
      current = undefined;
      end();
    },
  };
}

/** Kysely over a file, by libsql. */
export const sqliteDialect = (options: SqliteOptions): Dialect => ({
  createAdapter: () => new SqliteAdapter(),
  createDriver: () => driver(options),
  createIntrospector: (db) => new SqliteIntrospector(db),
  createQueryCompiler: () => new SqliteQueryCompiler(),
});
