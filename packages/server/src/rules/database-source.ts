import type { RuleSet } from './compile.js';
import { openCopy, type CopyOptions, type CopyState, type CopyWatch } from './copy.js';
import type { Snapshot } from './copy-opening.js';
import type { Versioned } from './disk-copy.js';
import type { Parts, RulesRepository } from './repository.js';
import { compileStored } from './stored-set.js';

export interface RulesDatabaseWatch extends Pick<CopyWatch<RuleSet>, 'onFault' | 'onReach' | 'onDiskFault'> {
  readonly onRules: (rules: RuleSet) => void;
}

/** Used like the source of a file. */
export interface RulesDatabaseSource {
  readonly rules: RuleSet;
  /** What is in force: its version, and where it comes from. */
  state(): CopyState & { readonly version: number };
  /** Watches for other content; the function returned stops it. To be called once. */
  watch(on: RulesDatabaseWatch): () => void;
}

const sorted = (map: ReadonlyMap<string, unknown>): [string, unknown][] => [...map].sort(([a], [b]) => (a < b ? -1 : 1));

function snapshotOf(version: number, parts: Parts, from: string): Snapshot<RuleSet> {
  return {
    version,
    text: JSON.stringify({ version, rules: sorted(parts.rules), blocks: sorted(parts.blocks) }),
    make: () => compileStored(parts, from),
  };
}

function parsed({ text }: Versioned): Snapshot<RuleSet> {
  const { version, rules, blocks } = JSON.parse(text) as { version: number; rules: [string, unknown][]; blocks: [string, unknown][] };
  return snapshotOf(version, { rules: new Map(rules), blocks: new Map(blocks) }, `copy of version ${version}`);
}

/**
 * Opens the rules in a database. Other rules are in force at once where the database tells of them (PostgreSQL), within a second in a file
 * (SQLite), and at the latest after 60 s. While the database is away or what it holds has faults, the last good rules stay, also over a
 * restart if a copy is kept on disk.
 *
 * @throws RulesError with every fault, DatabaseError; only if there is no copy on disk to start from
 */
export async function openRulesDatabase(repository: RulesRepository, options: CopyOptions): Promise<RulesDatabaseSource> {
  const copy = await openCopy<RuleSet>(
    {
      edition: repository.edition,
      async read() {
        const set = await repository.current();
        return snapshotOf(set.version, set, `database, version ${set.version}`);
      },
      parse: parsed,
    },
    options,
  );
  return {
    rules: copy.value,
    state: () => ({ ...copy.state(), version: Number(copy.state().version) }),
    watch: ({ onRules, ...on }) => copy.watch({ onValue: onRules, ...on }),
  };
}
