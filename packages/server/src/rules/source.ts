import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../database/open.js';
import { openRulesDatabase } from './database-source.js';
import { diskCopy, type DiskCopy } from './disk-copy.js';
import { withExceptions, withoutExceptions, type Excepted } from './exceptional.js';
import { openExceptions } from './exceptions-source.js';
import type { RulesError } from './faults.js';
import { openRulesFile } from './file-source.js';
import { systemTiming, type Timing } from './timing.js';

export interface SourceWatch {
  readonly onRules: (rules: Excepted) => void;
  /** Once for each faulty content; what is in force stays. */
  readonly onFault: (error: RulesError) => void;
  /** Once for each change: something that rules come from is away (why), or back, or cannot be kept on disk. */
  readonly onTrouble: (message: string) => void;
}

/** Where the rules in force come from: a file, or a database with what differs for some customers. */
export interface RulesSource {
  readonly rules: Excepted;
  /** The version in force; undefined for a file. */
  version(): number | undefined;
  /** The function returned stops it. To be called once. */
  watch(on: SourceWatch): () => void;
}

/** @throws RulesError */
export async function fileSource(file: string): Promise<RulesSource> {
  const source = await openRulesFile(file);
  return {
    rules: withoutExceptions(source.rules),
    version: () => undefined,
    watch: ({ onRules, onFault }) => source.watch({ onRules: (rules) => onRules(withoutExceptions(rules)), onFault }),
  };
}

export interface DatabaseSourceOptions {
  readonly database: Database;
  /** A folder for copies, to start from while the database is away; undefined: none are kept. */
  readonly cache: string | undefined;
  readonly timing?: Timing;
}

const copyIn = (cache: string, kind: string): string => join(cache, `${kind}.copy`);

/** Whether a folder has a copy of rules from an earlier run. */
export const hasCopy = (cache: string | undefined): boolean => cache !== undefined && existsSync(copyIn(cache, 'rules'));

/** @throws RulesError, DatabaseError; only if there are no copies on disk to start from */
export async function databaseSource({ database, cache, timing = systemTiming }: DatabaseSourceOptions): Promise<RulesSource> {
  const { changes, shown } = database;
  if (cache !== undefined) await mkdir(cache, { recursive: true, mode: 0o700 });
  const diskOf = (kind: string): DiskCopy | undefined =>
    cache === undefined ? undefined : diskCopy({ file: copyIn(cache, kind), kind, source: shown });
  const rules = await openRulesDatabase(database.rules, { changes, timing, disk: diskOf('rules') });
  const exceptions = await openExceptions(database.exceptions, { changes, timing, disk: diskOf('exceptions') });
  let current = rules.rules;
  let differing = exceptions.value;
  const now = (): Excepted => withExceptions(current, differing, timing.now);

  return {
    rules: now(),
    version: () => rules.state().version,
    watch({ onRules, onFault, onTrouble }) {
      const onReach = (error: Error | undefined): void =>
        onTrouble(error === undefined ? `${shown} can be used again` : `${error.message}; what is in force stays`);
      const onDiskFault = (error: Error): void => onTrouble(error.message);
      const stops = [
        rules.watch({
          onRules: (next) => {
            current = next;
            onRules(now());
          },
          onFault,
          onReach,
          onDiskFault,
        }),
        exceptions.watch({
          onValue: (next) => {
            differing = next;
            onRules(now());
          },
          onFault,
          onDiskFault,
        }),
      ];
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}
