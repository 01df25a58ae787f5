import { Kysely, type Dialect } from 'kysely';
import type { Changes } from '../rules/changes.js';
import type {
  ExceptionsReader,
  ExemptionsRepository,
  OverridesRepository,
  PlansRepository,
  ShadowsRepository,
} from '../rules/exceptions.js';
import type { AuditRepository, CheckpointsRepository, TokensRepository } from '../rules/records.js';
import type { RulesRepository } from '../rules/repository.js';
import { systemTiming, type Timing } from '../rules/timing.js';
import { showDatabase, type DatabaseAddress } from './address.js';
import { auditRepository } from './audit.js';
import { checkpointsRepository } from './checkpoints.js';
import { migrationDialect } from './dialects.js';
import { exceptionsReader } from './exceptions-reader.js';
import { exemptionsRepository } from './exemptions.js';
import { migrate } from './migrate.js';
import { overridesRepository } from './overrides.js';
import { plansRepository } from './plans.js';
import { postgresChanges } from './postgres-changes.js';
import { connectionOptions, limited, mostConnections, postgresDialect } from './postgres-pool.js';
import { rulesRepository } from './rules-repository.js';
import { shadowsRepository } from './shadows.js';
import { sqliteChanges } from './sqlite-changes.js';
import { sqliteDialect } from './sqlite-dialect.js';
import { sweepEnded } from './sweep.js';
import type { Tables } from './tables.js';
import { tokensRepository } from './tokens.js';
import type { Watchers } from './watchers.js';
import type { Writing } from './writing.js';

/** One that makes tables, or waits for another server that does, is ended after so long, in milliseconds. */
const migrationMs = 300_000;

export interface DatabaseOptions {
  readonly timing?: Timing | undefined;
  /** A statement in PostgreSQL that takes longer, in milliseconds, is ended; 10 s by default. */
  readonly statementMs?: number | undefined;
  /** Whether a file of SQLite that is not there is made; true by default. */
  readonly mayCreate?: boolean | undefined;
}

/** All that is kept in the database. Whatever is called first makes the tables, if they are not what this version needs. */
export interface Database {
  /** Its address without user and password. */
  readonly shown: string;
  readonly changes: Changes;
  readonly rules: RulesRepository;
  readonly plans: PlansRepository;
  readonly overrides: OverridesRepository;
  readonly exemptions: ExemptionsRepository;
  readonly shadows: ShadowsRepository;
  readonly exceptions: ExceptionsReader;
  readonly tokens: TokensRepository;
  readonly checkpoints: CheckpointsRepository;
  readonly audit: AuditRepository;
  /** See `sweepEnded`. */
  sweep(limit: number): Promise<number>;
  /**
   * Connects, and makes the tables what this version needs.
   *
   * @throws DatabaseError
   */
  ready(): Promise<void>;
  /** Waits for what is under way, and closes every connection. */
  close(): Promise<void>;
}

interface Engine {
  readonly dialect: Dialect;
  /** For migrations, which may take longer. */
  readonly patient: () => Dialect;
  readonly changes: Watchers;
}

function engineOf(address: DatabaseAddress, timing: Timing, { statementMs = 10_000, mayCreate = true }: DatabaseOptions): Engine {
  const shown = showDatabase(address);
  if (address.kind === 'sqlite') {
    const { file } = address;
    const dialect = sqliteDialect({ file, shown, mayCreate: false });
    return { dialect, patient: () => sqliteDialect({ file, shown, mayCreate }), changes: sqliteChanges(file, timing) };
  }
  const options = connectionOptions(address);
  return {
    dialect: postgresDialect({ options: limited(options, statementMs), shown, most: mostConnections }),
    patient: () => postgresDialect({ options: limited(options, migrationMs), shown, most: 1 }),
    changes: postgresChanges({ options, schema: address.schema, timing }),
  };
}

/** Does it once; again if it failed; not any more when it is closed. */
function once(work: () => Promise<void>): { begun(): Promise<void>; close(): Promise<void> } {
  let done: Promise<void> | undefined;
  let isClosed = false;
  return {
    begun() {
      if (isClosed) return Promise.reject(new Error('the database is closed'));
      done ??= work().catch((error: unknown) => {
        done = undefined;
        throw error;
      });
      return done;
    },
    async close() {
      isClosed = true;
      await done?.catch(() => undefined);
    },
  };
}

/** The same object, of which each method first waits until the tables are there. */
function after<T extends object>(ready: () => Promise<void>, repository: T): T {
  const entries = Object.entries(repository).map(([name, method]) => [
    name,
    async (...args: unknown[]) => {
      await ready();
      return (method as (...args: unknown[]) => unknown)(...args);
    },
  ]);
  return Object.fromEntries(entries) as T;
}

/**
 * Opens a database. Nothing is connected, and no file is made, before the first call: a database that is away is no reason not to start.
 *
 * @throws SettingError if `sslrootcert` cannot be read
 */
export function openDatabase(address: DatabaseAddress, options: DatabaseOptions = {}): Database {
  const { timing = systemTiming } = options;
  const shown = showDatabase(address);
  const { dialect, patient, changes } = engineOf(address, timing, options);
  const db = new Kysely<Tables>({ dialect });
  const { now } = timing;
  const writing: Writing = { db, shown, now };

  const tables = once(async () => {
    const own = new Kysely<Tables>({ dialect: patient() });
    try {
      await migrate(own, { dialect: migrationDialect(address), shown, now });
    } finally {
      await own.destroy();
    }
  });

  const ready = tables.begun;
  return {
    shown,
    changes,
    rules: after(ready, rulesRepository(writing)),
    plans: after(ready, plansRepository(writing)),
    overrides: after(ready, overridesRepository(writing)),
    exemptions: after(ready, exemptionsRepository(writing)),
    shadows: after(ready, shadowsRepository(writing)),
    exceptions: after(ready, exceptionsReader(db, now)),
    tokens: after(ready, tokensRepository(writing)),
    checkpoints: after(ready, checkpointsRepository(writing)),
    audit: after(ready, auditRepository(writing)),
    sweep: after(ready, { sweep: (limit: number) => sweepEnded(writing, limit) }).sweep,
    ready,
    async close() {
      changes.stop();
      await tables.close();
      await db.destroy();
    },
  };
}
