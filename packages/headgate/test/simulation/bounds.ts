import { millionth, sizeOf, type TokenBucketLimit } from '../../src/limit.js';
import type { Admission, History, KeyHistory } from './history.js';

/** What was admitted against what may be. */
export interface Measure {
  readonly key: string;
  readonly promise: string;
  readonly admitted: number;
  readonly bound: number;
  readonly where: string;
}

/** A leased unit of a bucket is spent at most so long after it was taken. */
const leaseUs = 1_000_000;

const isSynced = ({ spec }: KeyHistory): boolean => typeof spec.mode === 'object';

/**
 * How many times the limit passes at most, with `counting` processes of which each believed that at least `believed` share the key.
 *
 * All take a share of the whole before any has told, counting/believed in all; then they tell in turn, and each but the last gets a
 * share of what is left by then, (believed - 1)/2believed in all. Those that are believed to be there and take nothing count as well.
 */
export function syncFactor(counting: number, believed: number): number {
  return Math.max(counting, believed) / believed + (believed - 1) / (2 * believed);
}

function factorOf(admitted: readonly Admission[]): { factor: number; text: string } {
  const counting = new Set(admitted.map(({ life }) => life)).size;
  const believed = admitted.reduce((least, { members }) => Math.min(least, members ?? least), Number.POSITIVE_INFINITY);
  // Nobody counted by himself: exact.
  if (believed === Number.POSITIVE_INFINITY) return { factor: 1, text: 'by the store alone' };
  return { factor: syncFactor(counting, believed), text: `${counting} processes, of which one believed in ${believed}` };
}

/** The end of the window that units were spent in; undefined if none was open, though a first request has to open it. */
function windowOf({ at, windowEnd }: Admission, { windowEnds, spec: { limit } }: KeyHistory): number | undefined {
  if (windowEnd !== undefined) return windowEnd;
  if (limit.kind !== 'fixedWindow') return [...windowEnds].find((end) => at < end);
  const { from, windowUs } = limit;
  if (from === 'epoch') return (Math.floor(at / windowUs) + 1) * windowUs;
  return [...windowEnds].find((end) => end - windowUs <= at && at < end);
}

function* windows(of: KeyHistory): Generator<Measure> {
  const { spec, admitted } = of;
  const byWindow = new Map<number | undefined, Admission[]>();
  for (const one of admitted) {
    const end = windowOf(one, of);
    const those = byWindow.get(end);
    if (those === undefined) byWindow.set(end, [one]);
    else those.push(one);
  }
  for (const [end, those] of byWindow) {
    const units = those.reduce((sum, one) => sum + one.units, 0);
    const { factor, text } = isSynced(of) ? factorOf(those) : { factor: 1, text: 'leased' };
    const bound = end === undefined ? 0 : sizeOf(spec.limit) * factor;
    const where = end === undefined ? `outside of any window, first at ${those[0]?.at}` : `the window that ends at ${end}, ${text}`;
    yield { key: spec.name, promise: 'units in a window', admitted: units, bound, where };
  }
}

/** The most that passed beyond a refill of `perUs` in any interval: the deepest that a bucket without a bottom would have been. */
function deepest(admitted: readonly Admission[], perUs: number): { depth: number; at: number } {
  let [level, last, depth, at] = [0, 0, 0, 0];
  for (const one of [...admitted].sort((a, b) => a.at - b.at)) {
    level = Math.max(0, level - (one.at - last) * perUs) + one.units;
    last = one.at;
    if (level > depth) [depth, at] = [level, one.at];
  }
  return { depth, at };
}

function* buckets(of: KeyHistory, { capacity, creditUnits, creditUs }: TokenBucketLimit): Generator<Measure> {
  const { spec, admitted, firstAt = 0 } = of;
  const perUs = creditUnits / creditUs / millionth;
  if (typeof spec.mode === 'object') {
    // A share counts what flows back until the next exchange: in an interval t, (capacity + refill x (t + interval)) times the same
    // factor as for a window, by the fewest members that anybody believed in over the whole run.
    const { factor, text } = factorOf(admitted);
    const { depth, at } = deepest(admitted, perUs * factor);
    const bound = (capacity + spec.mode.syncUs * perUs) * factor;
    yield { key: spec.name, promise: 'units beyond the refill', admitted: depth, bound, where: `until ${at}, ${text}` };
    return;
  }
  const { depth, at } = deepest(admitted, perUs);
  yield {
    key: spec.name,
    promise: 'units beyond the refill in any interval',
    admitted: depth,
    bound: capacity + leaseUs * perUs,
    where: `until ${at}`,
  };
  let sum = 0;
  let worst = { over: Number.NEGATIVE_INFINITY, sum: 0, at: 0 };
  for (const one of [...admitted].sort((a, b) => a.at - b.at)) {
    sum += one.units;
    const over = sum - (one.at - firstAt) * perUs;
    if (over > worst.over) worst = { over, sum, at: one.at };
  }
  if (admitted.length > 0)
    yield {
      key: spec.name,
      promise: 'units from an idle start',
      admitted: worst.sum,
      bound: capacity + (worst.at - firstAt) * perUs,
      where: `until ${worst.at}, ${worst.at - firstAt} us after the first`,
    };
}

/** Every promise about every key, with the figures. */
export function measures({ keys }: History): Measure[] {
  return [...keys.values()].flatMap((of) => {
    const { limit } = of.spec;
    return [...(limit.kind === 'tokenBucket' ? buckets(of, limit) : windows(of))];
  });
}

/** Millionths are rounded, factors are fractions. */
const tolerance = 1e-6;

export const isBroken = ({ admitted, bound }: Measure): boolean => admitted > bound + tolerance;
