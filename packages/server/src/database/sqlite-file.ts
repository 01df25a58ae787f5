import { closeSync, openSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import type Libsql from 'libsql';
import { DatabaseError } from './errors.js';

/** How long SQLite itself waits for another process, in milliseconds: meanwhile this one answers nobody. The driver waits on without blocking. */
const blockedMostMs = 2;

/** Prepared statements that are kept. Those of the repositories are some dozens; a list of 500 names makes others. */
const mostStatements = 200;

type Row = Record<string, unknown>;

/** A connection to a database file. All of it is synchronous. */
export interface SqliteFile {
  /** Runs one statement: the rows that it returns, or how many it changed. */
  run(sql: string, parameters: readonly unknown[]): { readonly rows: Row[]; readonly changes: number };
  readonly inTransaction: boolean;
  /** Whether the file is still the one under this path: not removed, and not replaced by a backup. */
  isThere(): boolean;
  close(): void;
}

/** Loaded when a file is opened first: its binary is not there for every platform, and who uses none of it need not know. */
function driver(): typeof Libsql {
  try {
    return createRequire(import.meta.url)('libsql') as typeof Libsql;
  } catch (error) {
    const why = (error as { code?: string }).code ?? (error as Error).message;
    throw new DatabaseError('failed', `SQLite's driver cannot be loaded on this platform (${why}); use PostgreSQL`);
  }
}

/** libsql 0.5.29 ends the whole process on a boolean, and cuts text at a NUL: neither reaches it. */
function bindable(value: unknown): unknown {
  if (value === null || typeof value === 'number' || (typeof value === 'string' && !value.includes('\0'))) return value;
  throw new TypeError(`a parameter of SQLite is text without NUL, a number or null; got ${value === '' ? 'text with NUL' : typeof value}`);
}

function identity(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  return found?.isFile() === true ? `${found.dev}:${found.ino}` : undefined;
}

/**
 * Makes the file if it is not there. Only this user may read it: hashes of tokens and customers' keys are in it. One that is there is not even
 * opened: closing any descriptor of a file takes away all locks that SQLite has on it in this process, and then two processes write at once.
 */
function make(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw Object.assign(new Error('cannot be made'), { code: 'SQLITE_CANTOPEN', cause: error });
  }
}

/**
 * Opens a database file in WAL mode, so that readers never wait for writers.
 *
 * @param create whether a file that is not there is made
 * @throws DatabaseError `unreachable` if it is not there, or what libsql throws
 */
export function openSqliteFile(file: string, create: boolean): SqliteFile {
  if (create) make(file);
  const opened = identity(file);
  if (opened === undefined)
    throw new DatabaseError('unreachable', `sqlite:${file}: the file is gone; put it back, or restart to begin with an empty one`);
  const connection = new (driver())(file, { timeout: blockedMostMs });
  try {
    for (const pragma of ['journal_mode = wal', 'synchronous = full', 'foreign_keys = on']) connection.pragma(pragma);
  } catch (error) {
    connection.close();
    throw error;
  }
  // Kept, as unused ones hold native memory until the garbage collector comes by.
  const statements = new Map<string, Libsql.Statement>();

  function prepared(sql: string): Libsql.Statement {
    const known = statements.get(sql);
    if (known) return known;
    const [oldest] = statements.keys();
    if (statements.size >= mostStatements && oldest !== undefined) statements.delete(oldest);
    const statement = connection.prepare(sql);
    statements.set(sql, statement);
    return statement;
  }

  return {
    run(sql, parameters) {
      const values = parameters.map(bindable);
      const statement = prepared(sql);
      if (statement.reader) return { rows: statement.all(...values) as Row[], changes: 0 };
      return { rows: [], changes: statement.run(...values).changes };
    },
    get inTransaction() {
      return connection.inTransaction;
    },
    isThere: () => identity(file) === opened,
    close() {
      statements.clear();
      connection.close();
    },
  };
}
