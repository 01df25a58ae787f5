import type { KeySpec } from './keys.js';

/** Units that were let through. */
export interface Admission {
  /** By the clock of the key's shard: when the layer said so, or, decided by the store, when that did. */
  readonly at: number;
  readonly units: number;
  /** Unique for each life of a process. */
  readonly life: number;
  /** Counted by sync: the members that the process believed to be there; else undefined. */
  readonly members: number | undefined;
  /** Where the store itself has put the units; undefined if they were spent here. */
  readonly windowEnd: number | undefined;
}

/** What happened to one key. */
export interface KeyHistory {
  readonly spec: KeySpec;
  readonly admitted: Admission[];
  /** The ends of the windows that there were, by the shard's clock. */
  readonly windowEnds: Set<number>;
  /** When the shard first took anything from it. */
  firstAt: number | undefined;
}

/** What happened in a run. */
export interface History {
  readonly keys: ReadonlyMap<string, KeyHistory>;
  checks: number;
  refused: number;
  storeCalls: number;
}

export function newHistory(specs: readonly KeySpec[]): History {
  const all = specs.flatMap((spec) => (spec.with ? [spec, spec.with] : [spec]));
  const keys = new Map(all.map((spec) => [spec.name, { spec, admitted: [], windowEnds: new Set<number>(), firstAt: undefined }]));
  return { keys, checks: 0, refused: 0, storeCalls: 0 };
}

/** Two runs are the same if this is. */
export function fingerprint(history: History): string {
  let [low, high] = [0x811c9dc5, 0x2f0b4c47];
  const mix = (value: number): void => {
    low = Math.imul(low ^ value, 0x01000193);
    high = Math.imul(high ^ Math.floor(value / 2 ** 32) ^ low, 0x5bd1e995);
  };
  for (const { admitted } of history.keys.values()) {
    for (const { at, units, life } of admitted) {
      mix(at);
      mix(units);
      mix(life);
    }
  }
  [history.checks, history.refused, history.storeCalls].forEach(mix);
  return [high, low].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
}
