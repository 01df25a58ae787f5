import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../database/open.js';
import { openRulesDatabase } from './database-source.js';
import { diskCopy, type DiskCopy } from './disk-copy.js';
import type { RuleSet } from './compile.js';
import { excepting, type Excepted } from './exceptional.js';
import type { Exceptions } from './exceptions.js';
import { openExceptions } from './exceptions-source.js';
import type { RulesError } from './faults.js';
import { openRulesFile } from './file-source.js';
import { news } from './news.js';
import { inSlices } from './slices.js';
import type { SourceState } from './source-state.js';
import { systemTiming, type Timing } from './timing.js';

/** Why there are other rules in force, and what is new about them: what was told before is not told again. */
export interface Notice {
  /** What the rules say, or only what differs from them for some customers. */
  readonly changed: 'rules' | 'exceptions';
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
}

export interface SourceWatch {
  readonly onRules: (rules: Excepted, notice: Notice) => void;
  /** Once for each faulty content; what is in force stays. */
  readonly onFault: (error: RulesError) => void;
  /** Once for each change: something that rules come from is away (why), or back, or cannot be kept on disk. */
  readonly onTrouble: (message: string) => void;
}

/** Where the rules in force come from: a file, or a database with what differs for some customers. */
export interface RulesSource {
  readonly rules: Excepted;
  state(): SourceState;
  /** The function returned stops it. To be called once. */
  watch(on: SourceWatch): () => void;
}

const nothing: Exceptions = { plans: [], overrides: [], exemptions: [], shadows: [] };

interface InForce {
  readonly first: Excepted;
  /** Puts others in force, one after the other. */
  change(what: Notice['changed'], next: { readonly set?: RuleSet; readonly exceptions?: Exceptions }): Promise<void>;
  onRules: SourceWatch['onRules'];
}

/** Rules with what differs from them, in force from the first on. */
async function putInForce({ now }: Timing, first: { readonly set: RuleSet; readonly exceptions: Exceptions }): Promise<InForce> {
  const { apply } = excepting(now);
  const [newFaults, newWarnings] = [news(), news()];
  let current = first;
  let turn = Promise.resolve();
  const rules = await inSlices(apply(current.set, current.exceptions));
  newFaults(rules.faults);
  newWarnings(rules.warnings);
  const inForce: InForce = {
    first: rules,
    onRules: () => undefined,
    change(changed, next) {
      const done = turn.then(async () => {
        current = { ...current, ...next };
        const made = await inSlices(apply(current.set, current.exceptions));
        inForce.onRules(made, { changed, faults: newFaults(made.faults), warnings: newWarnings(made.warnings) });
      });
      turn = done.catch(() => undefined);
      return done;
    },
  };
  return inForce;
}

/** @throws RulesError */
export async function fileSource(file: string, timing: Timing = systemTiming): Promise<RulesSource> {
  const source = await openRulesFile(file, timing);
  const inForce = await putInForce(timing, { set: source.rules, exceptions: nothing });
  return {
    rules: inForce.first,
    state() {
      const { confirmed, isReachable } = source.state();
      return { version: undefined, from: 'file', ageMs: Math.max(0, timing.now() - confirmed), reachable: isReachable };
    },
    watch({ onRules, onFault }) {
      inForce.onRules = onRules;
      return source.watch({ onRules: (set) => inForce.change('rules', { set }), onFault });
    },
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
  const inForce = await putInForce(timing, { set: rules.rules, exceptions: exceptions.value });

  return {
    rules: inForce.first,
    state() {
      const { version, from, confirmed, isReachable } = rules.state();
      const ageMs = Math.max(0, timing.now() - (confirmed ?? 0));
      return { version, from, ageMs, reachable: isReachable && exceptions.state().isReachable };
    },
    watch({ onRules, onFault, onTrouble }) {
      const onReach = (error: Error | undefined): void =>
        onTrouble(error === undefined ? `${shown} can be used again` : `${error.message}; what is in force stays`);
      const onDiskFault = (error: Error): void => onTrouble(error.message);
      inForce.onRules = onRules;
      const stops = [
        rules.watch({ onRules: (set) => inForce.change('rules', { set }), onFault, onReach, onDiskFault }),
        exceptions.watch({ onValue: (value) => inForce.change('exceptions', { exceptions: value }), onFault, onDiskFault }),
      ];
      return () => {
        inForce.onRules = () => undefined;
        for (const stop of stops) stop();
      };
    },
  };
}
