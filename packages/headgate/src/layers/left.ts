import { algorithmOf, type Description } from '../algorithms/index.js';
import { millionth, sizeOf, type CountedLimit } from '../limit.js';

export interface Left {
  /** Whole units, as far as is known. */
  readonly units: number;
  readonly cost: number;
  /** The store's clock, and when `units` was true. */
  readonly now: number;
  readonly windowEnd: number | undefined;
}

/** What is said of a key of which so many units are left: waits are no shorter than they really are. */
export function describeLeft(limit: CountedLimit, { units, cost, now, windowEnd = now }: Left): Description {
  const used = Math.max(0, sizeOf(limit) - units);
  // Of a sliding window all might have been taken in the current one, which fades last.
  const view = limit.kind === 'tokenBucket' ? [used * millionth] : limit.kind === 'slidingWindow' ? [used, 0] : [used, windowEnd];
  return algorithmOf(limit.kind).describe({ view, limit, now, cost });
}
