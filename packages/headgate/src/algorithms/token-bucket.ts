import { largestLimit, millionth, type TokenBucketLimit } from '../limit.js';
import { fit, passed, type Algorithm } from './algorithm.js';
import { mulDivCeil, mulDivFloor } from './arithmetic.js';

/** Millionths of a unit used, and the microsecond they were reckoned at. */
export interface BucketState {
  readonly used: number;
  readonly at: number;
}

const largestUsed = largestLimit * millionth;

/** How far a settle may charge beyond the capacity, as a multiple of it: the client pays that back before anything passes. */
const debtCapacities = 10;

/** How far refused requests are counted under `countRefused`: one capacity of debt. */
const refusedCapacities = 2;

/** What flowed back in `elapsed` microseconds, in millionths, at most `used`. */
export function credit(limit: TokenBucketLimit, elapsed: number, used: number): number {
  if (elapsed <= 0) return 0;
  const { creditUnits, creditUs } = limit;
  // The estimate keeps the exact arithmetic below in its range; its own rounding is far below the margin.
  if ((elapsed * creditUnits) / creditUs > used * 1.000001 + 1) return used;
  return Math.min(used, mulDivFloor(elapsed, creditUnits, creditUs));
}

/** Microseconds until `millionths` have flowed back. */
const refillUs = (limit: TokenBucketLimit, millionths: number): number => mulDivCeil(millionths, limit.creditUs, limit.creditUnits);

/** The fill at which a take is still allowed: the capacity, and what flows back until a turn in the future. */
export function ceiling(limit: TokenBucketLimit, aheadUs = 0): number {
  const full = limit.capacity * millionth;
  return aheadUs === 0 ? full : full + credit(limit, aheadUs, largestUsed - full);
}

/** The most a bucket can owe, in millionths: after a settle, and by refused requests that count. */
export function debtCap(limit: TokenBucketLimit, why: 'settle' | 'refused'): number {
  return Math.min(limit.capacity * (why === 'settle' ? debtCapacities : refusedCapacities), largestLimit) * millionth;
}

/** Token bucket: `used` grows by what is taken and flows back at the refill. */
export const tokenBucketAlgorithm: Algorithm<TokenBucketLimit, BucketState> = {
  cells: {
    read: ({ a, b }) => ({ used: a, at: b }),
    write(cells, { used, at }) {
      cells.a = used;
      cells.b = at;
    },
  },
  viewSize: 1,

  current(stored, limit, now) {
    if (stored === undefined) return { used: 0, at: now };
    return { used: stored.used - credit(limit, now - stored.at, stored.used), at: now };
  },

  overreaches: (stored, _limit, now) => stored.at > now,

  take({ state, limit, now, cost, least, aheadUs, countRefused }) {
    const { used } = state;
    const free = cost > limit.capacity && aheadUs ? 0 : Math.floor((ceiling(limit, aheadUs) - used) / millionth);
    const taken = least === 0 ? cost : fit(free, cost, least);
    if (taken > 0 && least !== 0) return { state: { used: used + taken * millionth, at: now }, allowed: true, taken };
    if (least !== 0 && !countRefused) return { state, allowed: false, taken: 0 };
    const cap = debtCap(limit, least === 0 ? 'settle' : 'refused');
    const owing = { used: Math.max(used, Math.min(used + cost * millionth, cap)), at: now };
    return { state: owing, allowed: least === 0, taken: least === 0 ? cost : 0 };
  },

  pass(cells, check, now) {
    const { limit } = check;
    const used = cells.a - credit(limit, now - cells.b, cells.a) + check.cost * millionth;
    const free = limit.capacity * millionth - used;
    if (free < 0) return undefined;
    cells.a = used;
    cells.b = now;
    return passed(check, now, { remaining: Math.floor(free / millionth), resetAfterUs: refillUs(limit, used) });
  },

  view: ({ state }) => [state.used],

  describe({ view, limit, cost }) {
    const used = view[0] ?? 0;
    const full = limit.capacity * millionth;
    // In this order: the sum of used and cost may be above 2^53, the differences never are.
    const missing = used - (full - cost * millionth);
    const retryAfterUs = cost > limit.capacity ? Number.POSITIVE_INFINITY : missing > 0 ? refillUs(limit, missing) : 0;
    return {
      remaining: Math.max(0, Math.floor((full - used) / millionth)),
      retryAfterUs,
      resetAfterUs: refillUs(limit, used),
    };
  },

  giveBack({ stored, receipt, now, units }) {
    // Above the capacity, others have taken turns in the future that follow on this one: what came back would pass beside the last
    // of them. Only the last turn itself can be given back.
    const elapsed = now - stored.at;
    const current = stored.used - credit(receipt.limit, elapsed, stored.used);
    const { fill = 0 } = receipt;
    const last = current <= fill - credit(receipt.limit, now - receipt.takenAt, fill);
    if (current > receipt.limit.capacity * millionth && !last) return { state: stored, returned: 0 };
    const flowedBack = credit(receipt.limit, now - receipt.takenAt, units * millionth);
    const back = Math.min(stored.used, units * millionth - flowedBack);
    return { state: { used: stored.used - back, at: stored.at }, returned: back / millionth };
  },

  expiresAt: (state, limit, now) => now + refillUs(limit, state.used),
};

/** Microseconds until a bucket that was taken from ahead of time is back at its capacity: the wait for the turn. */
export function turnAfterUs(view: readonly number[], limit: TokenBucketLimit): number {
  return refillUs(limit, Math.max(0, (view[0] ?? 0) - limit.capacity * millionth));
}
