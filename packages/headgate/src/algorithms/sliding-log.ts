import type { SlidingLogLimit } from '../limit.js';
import { fit, largestCount, type Algorithm } from './algorithm.js';

/** One request: when, and how many units. */
interface Entry {
  readonly at: number;
  readonly cost: number;
}

/** The requests of the last window, oldest first, and the units they took. */
export interface LogState {
  readonly entries: readonly Entry[];
  readonly total: number;
}

const sum = (entries: readonly Entry[]): number => entries.reduce((total, entry) => total + entry.cost, 0);

/**
 * Drops the oldest entries that the newer ones already outweigh: if what is newer than an entry reaches the limit, the entry
 * changes no decision while it lasts. Bounds a log that counts refused or settled units.
 */
function compact(entries: readonly Entry[], limit: number): LogState {
  let total = sum(entries);
  let first = 0;
  while (first < entries.length - 1 && total - (entries[first]?.cost ?? 0) >= limit) {
    total -= entries[first]?.cost ?? 0;
    first += 1;
  }
  return { entries: first === 0 ? entries : entries.slice(first), total };
}

/** When enough of the log has left for `cost` to fit; 0 if it fits now. */
function passesAt(state: LogState, limit: SlidingLogLimit, cost: number): number {
  let left = state.total;
  if (left + cost <= limit.limit) return 0;
  for (const entry of state.entries) {
    left -= entry.cost;
    if (left + cost <= limit.limit) return entry.at + limit.windowUs;
  }
  return 0;
}

/** Sliding log: every request of the last window, exactly. */
export const slidingLogAlgorithm: Algorithm<SlidingLogLimit, LogState> = {
  viewSize: 3,

  current(stored, limit, now) {
    if (stored === undefined) return { entries: [], total: 0 };
    const { entries } = stored;
    let first = 0;
    while (first < entries.length && (entries[first]?.at ?? 0) + limit.windowUs <= now) first += 1;
    const future = (entries.at(-1)?.at ?? 0) > now;
    if (first === 0 && !future) return stored;
    const live = entries.slice(first).map((entry) => (entry.at > now ? { at: now, cost: entry.cost } : entry));
    return { entries: live, total: sum(live) };
  },

  overreaches: (stored, _limit, now) => (stored.entries.at(-1)?.at ?? 0) > now,

  take({ state, limit, now, cost, least, countRefused }) {
    const taken = least === 0 ? cost : fit(limit.limit - state.total, cost, least);
    const add = (units: number): Entry[] => [...state.entries, { at: now, cost: Math.min(units, largestCount) }];
    if (taken > 0) {
      const next = { entries: add(taken), total: state.total + taken };
      return { state: next.total > limit.limit ? compact(next.entries, limit.limit) : next, allowed: true, taken };
    }
    return { state: countRefused && limit.limit > 0 ? compact(add(cost), limit.limit) : state, allowed: false, taken: 0 };
  },

  view: ({ state, limit, cost }) => [state.total, passesAt(state, limit, cost), state.entries.at(-1)?.at ?? 0],

  describe({ view, limit, now, cost }) {
    const [total = 0, passes = 0, last = 0] = view;
    const wait = passes === 0 ? 0 : passes - now;
    return {
      remaining: Math.max(0, limit.limit - total),
      retryAfterUs: cost > limit.limit ? Number.POSITIVE_INFINITY : wait,
      resetAfterUs: total > 0 ? last + limit.windowUs - now : 0,
    };
  },

  giveBack({ stored, receipt, now, units }) {
    const index = stored.entries.findIndex((entry) => entry.at === receipt.takenAt && entry.cost >= units);
    const entry = stored.entries[index];
    if (entry === undefined || entry.at + receipt.limit.windowUs <= now) return { state: stored, returned: 0 };
    // An entry of cost 0 stays in its place, so that the newest entry still says when the log is empty.
    const entries = stored.entries.with(index, { at: entry.at, cost: entry.cost - units });
    return { state: { entries, total: stored.total - units }, returned: units };
  },

  expiresAt: (state, limit, now) => (state.total > 0 ? (state.entries.at(-1)?.at ?? 0) + limit.windowUs : now),
};
