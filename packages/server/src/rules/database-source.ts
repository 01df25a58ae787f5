import type { RuleSet } from './compile.js';
import { openCopy, type CopyOptions, type CopyState, type CopyWatch } from './copy.js';
import type { Snapshot } from './copy-opening.js';
import type { Versioned } from './disk-copy.js';
import type { Parts, RulesRepository } from './repository.js';
import { inSlices, type Sliced } from './slices.js';
import { compileStored } from './stored-set.js';

export interface RulesDatabaseWatch extends Pick<CopyWatch<RuleSet>, 'onFault' | 'onReach' | 'onDiskFault'> {
  readonly onRules: CopyWatch<RuleSet>['onValue'];
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

/** As JSON, in slices. */
function* textOf(version: number, { rules, blocks }: Parts): Sliced<string> {
  const texts: string[] = [];
  for (const rule of sorted(rules)) {
    yield;
    texts.push(JSON.stringify(rule));
  }
  return `{"version":${version},"rules":[${texts.join(',')}],"blocks":${JSON.stringify(sorted(blocks))}}`;
}

interface Told {
  readonly version: number;
  /** In faults. */
  readonly from: string;
  readonly text: string;
}

const snapshotOf = (parts: Parts, { version, from, text }: Told): Snapshot<RuleSet> => ({
  version,
  text,
  make: (before) => inSlices(compileStored(parts, { from, known: before?.compiled })),
});

function parsed({ text }: Versioned): Snapshot<RuleSet> {
  const { version, rules, blocks } = JSON.parse(text) as { version: number; rules: [string, unknown][]; blocks: [string, unknown][] };
  return snapshotOf({ rules: new Map(rules), blocks: new Map(blocks) }, { version, from: `copy of version ${version}`, text });
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
        const { version } = set;
        return snapshotOf(set, { version, from: `database, version ${version}`, text: await inSlices(textOf(version, set)) });
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
