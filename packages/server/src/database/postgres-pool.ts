import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { PostgresDialect, type Dialect, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { SettingError } from '../redis-address.js';
import type { PostgresAddress } from './address.js';
import { explain } from './errors.js';

/** Connections for statements; one more waits for notifications. */
export const mostConnections = 2;

/** By when a connection is made, in milliseconds. */
const connectMs = 3_000;

/** A connection that is not used so long is closed, in milliseconds. */
const idleMs = 10_000;

/** Where PostgreSQL itself does not end a statement in time, because the way to it is cut, it is given up so much later. */
const lateMs = 2_000;

const int8 = 20;

const parserOf = pg.types.getTypeParser as (oid: number, format?: string) => (text: string) => unknown;

/** `bigint` as a number: all of ours are below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: string) => (oid === int8 ? Number : parserOf(oid, format)),
};

function tlsOf({ tls }: PostgresAddress): ConnectionOptions | false {
  if (tls === undefined) return false;
  let ca: string | undefined;
  try {
    ca = tls.authorities === undefined ? undefined : readFileSync(tls.authorities, 'utf8');
  } catch (error) {
    throw new SettingError(`sslrootcert: ${tls.authorities ?? ''} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
  return {
    rejectUnauthorized: tls.verify !== 'nothing',
    ...(tls.verify === 'authority' ? { checkServerIdentity: () => undefined } : undefined),
    ...(ca === undefined ? undefined : { ca }),
  };
}

/**
 * How a connection is made. What is not in the address comes from PGUSER, PGPASSWORD and `~/.pgpass`, as with psql.
 *
 * @throws SettingError if the file with the authorities cannot be read
 */
export function connectionOptions(address: PostgresAddress): pg.ClientConfig {
  const { host, port, database, username, password, schema } = address;
  return {
    host,
    port,
    database,
    ...(username === undefined ? undefined : { user: username }),
    ...(password === undefined ? undefined : { password }),
    ssl: tlsOf(address),
    // Whatever the database's own default is: of two who write at once the second waits, and sees what the first has written.
    options: String.raw`-c search_path=${schema} -c default_transaction_isolation=read\ committed`,
    application_name: 'headgate',
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types,
  };
}

/** The same, with an end to every statement, in milliseconds. */
export const limited = (options: pg.ClientConfig, statementMs: number): pg.ClientConfig => ({
  ...options,
  statement_timeout: statementMs,
  idle_in_transaction_session_timeout: statementMs,
  query_timeout: statementMs + lateMs,
});

/** Whether the connection can be used after this: PostgreSQL itself answered, and did not say that it ends. */
const isUsable = (error: unknown): boolean => {
  const { severity, code } = error as { severity?: unknown; code?: unknown };
  return severity === 'ERROR' && typeof code === 'string' && !/^(57P|08)/.test(code);
};

/** Tells errors in our words, and gives a connection that may still wait for an answer back to be closed. */
function guarded(client: pg.PoolClient, shown: string): PostgresPoolClient {
  let broken = false;
  const query = async (sql: string, parameters: readonly unknown[]): Promise<unknown> => {
    try {
      return await client.query(sql, [...parameters]);
    } catch (error) {
      if (!isUsable(error)) broken = true;
      throw explain(error, shown);
    }
  };
  return { query: query as PostgresPoolClient['query'], release: () => client.release(broken) };
}

export interface PoolOptions {
  readonly options: pg.ClientConfig;
  /** In errors. */
  readonly shown: string;
  readonly most: number;
}

/** Kysely over PostgreSQL. Nothing is connected before the first statement. */
export function postgresDialect({ options, shown, most }: PoolOptions): Dialect {
  const pool = new pg.Pool({ ...options, max: most, idleTimeoutMillis: idleMs });
  // An idle connection that is cut: the pool has forgotten it already, and without a listener the process would end.
  pool.on('error', () => undefined);
  return new PostgresDialect({
    pool: {
      async connect() {
        try {
          return guarded(await pool.connect(), shown);
        } catch (error) {
          throw explain(error, shown);
        }
      },
      end: () => pool.end(),
    },
  });
}
