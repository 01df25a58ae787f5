import { largestCost, type ConsecutiveFailuresLimit } from '../limit.js';
import { fit, type Algorithm } from './algorithm.js';

/** Attempts in a row, each counted as failed when it began. */
export interface AttemptsState {
  readonly count: number;
  /** When the last one began. */
  readonly last: number;
  /** When the first one did: what began before it belongs to a count that was forgotten. */
  readonly first: number;
}

/** Counts stop here, far above any limit. */
const mostAttempts = 1_000_000;

/** How long an attempt can be taken back: who looked at no password knows it soon, and the mark that it was done is not to last for a year. */
const refundableUs = 86_400_000_000;

/** Until when an attempt of a moment can be taken back. */
export const refundableUntil = (takenAt: number, { forgetUs }: ConsecutiveFailuresLimit): number =>
  takenAt + Math.min(forgetUs, refundableUs);

/** The wait after so many failures. */
function waitUs({ free, firstWaitUs, longestWaitUs }: ConsecutiveFailuresLimit, count: number): number {
  return count <= free ? 0 : Math.min(longestWaitUs, firstWaitUs * 2 ** (count - free - 1));
}

interface Moment {
  readonly count: number;
  readonly last: number;
  readonly now: number;
}

/** Attempts that may begin at this instant. */
function open(limit: ConsecutiveFailuresLimit, { count, last, now }: Moment): number {
  const left = Math.max(0, limit.limit - count);
  if (count <= limit.free) return Math.min(left, limit.free + 1 - count);
  return now < last + waitUs(limit, count) ? 0 : Math.min(left, 1);
}

/** Consecutive failures: so many at one instant, then one after each wait, until a success or a long silence. */
export const consecutiveFailuresAlgorithm: Algorithm<ConsecutiveFailuresLimit, AttemptsState> = {
  cells: {
    read: ({ a, b, c }) => ({ count: a, last: b, first: c }),
    write(cells, { count, last, first }) {
      cells.a = count;
      cells.b = last;
      cells.c = first;
    },
  },
  viewSize: 2,

  current(stored, limit, now) {
    if (stored === undefined || stored.count === 0 || stored.last + limit.forgetUs <= now) return { count: 0, last: now, first: now };
    return stored.last > now ? { count: stored.count, last: now, first: Math.min(stored.first, now) } : stored;
  },

  overreaches: (stored, _limit, now) => stored.last > now,

  take({ state, limit, now, cost, least }) {
    const { count, first } = state;
    const taken = least === 0 ? cost : fit(open(limit, { ...state, now }), cost, least);
    if (taken === 0) return { state, allowed: false, taken };
    const next = { count: Math.min(count + taken, mostAttempts), last: now, first };
    return { state: next, allowed: true, taken };
  },

  view: ({ state }) => [state.count, state.last],

  describe({ view, limit, now, cost }) {
    const [count = 0, last = now] = view;
    const remaining = open(limit, { count, last, now });
    const forgottenUs = count > 0 ? last + limit.forgetUs - now : 0;
    let retryAfterUs = 0;
    if (cost > largestCost(limit)) retryAfterUs = Number.POSITIVE_INFINITY;
    // Several at once fit before the first wait only, so that they wait until all is forgotten.
    else if (cost > remaining) retryAfterUs = cost === 1 && count < limit.limit ? last + waitUs(limit, count) - now : forgottenUs;
    return { remaining, retryAfterUs, resetAfterUs: forgottenUs, failures: count };
  },

  giveBack({ stored, receipt, now, units, forget }) {
    const { limit, takenAt } = receipt;
    const isOver = takenAt < stored.first || stored.last + limit.forgetUs <= now;
    if (isOver || (forget !== true && refundableUntil(takenAt, limit) <= now)) return { state: stored, returned: 0 };
    const returned = forget === true ? stored.count : Math.min(units, stored.count);
    // The wait is reckoned from the last attempt that is known, though it be the one that came back.
    return { state: { ...stored, count: stored.count - returned }, returned };
  },

  expiresAt: ({ count, last }, { forgetUs }, now) => (count > 0 ? last + forgetUs : now),
};
