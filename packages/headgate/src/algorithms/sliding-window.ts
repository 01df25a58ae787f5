import type { SlidingWindowLimit } from '../limit.js';
import { fit, largestCount, type Algorithm } from './algorithm.js';
import { mulDivCeil, mulDivFloor } from './arithmetic.js';

/** Units taken in the window that ends at `end`, and in the one before it. */
export interface SlidingWindowState {
  readonly current: number;
  readonly previous: number;
  readonly end: number;
}

const endAt = (limit: SlidingWindowLimit, now: number): number => (Math.floor(now / limit.windowUs) + 1) * limit.windowUs;

/** The count in force: the previous window weighs as much as it still overlaps (`left` of its length), rounded up. */
const inForce = ([current = 0, previous = 0]: readonly number[], left: number, { windowUs }: SlidingWindowLimit): number =>
  current + (previous === 0 ? 0 : mulDivCeil(left, previous, windowUs));

/** When `cost` fits if nobody else takes: while the previous window fades, or while this one does in its turn. */
function passesAt(
  [current = 0, previous = 0]: readonly number[],
  { limit, windowUs }: SlidingWindowLimit,
  { end, cost }: { end: number; cost: number },
): number {
  const room = limit - cost;
  if (current <= room) return end - mulDivFloor(windowUs, room - current, previous);
  return end + windowUs - mulDivFloor(windowUs, room, current);
}

/** Sliding window counter: two counts, the older weighted by its overlap. */
export const slidingWindowAlgorithm: Algorithm<SlidingWindowLimit, SlidingWindowState> = {
  cells: {
    read: ({ a, b, c }) => ({ current: a, end: b, previous: c }),
    write(cells, { current, end, previous }) {
      cells.a = current;
      cells.b = end;
      cells.c = previous;
    },
  },
  viewSize: 2,

  current(stored, limit, now) {
    const end = endAt(limit, now);
    if (stored === undefined || stored.end <= end - 2 * limit.windowUs) return { current: 0, previous: 0, end };
    if (stored.end > now) return { current: stored.current, previous: stored.previous, end };
    return { current: 0, previous: stored.current, end };
  },

  overreaches: (stored, limit, now) => stored.end > endAt(limit, now),

  take({ state, limit, now, cost, least, countRefused }) {
    const { current, previous, end } = state;
    const free = limit.limit - inForce([current, previous], end - now, limit);
    const taken = least === 0 ? cost : fit(free, cost, least);
    const add = (units: number): SlidingWindowState => ({ current: Math.min(current + units, largestCount), previous, end });
    if (taken > 0) return { state: add(taken), allowed: true, taken };
    return { state: countRefused ? add(cost) : state, allowed: false, taken: 0 };
  },

  view: ({ state }) => [state.current, state.previous],

  describe({ view, limit, now, cost }) {
    const [current = 0, previous = 0] = view;
    const end = endAt(limit, now);
    const used = inForce(view, end - now, limit);
    const wait = (): number => (used + cost <= limit.limit ? 0 : passesAt(view, limit, { end, cost }) - now);
    return {
      remaining: Math.max(0, limit.limit - used),
      retryAfterUs: cost > limit.limit ? Number.POSITIVE_INFINITY : wait(),
      resetAfterUs: current > 0 ? end + limit.windowUs - now : previous > 0 ? end - now : 0,
      windowEnd: end,
    };
  },

  giveBack({ stored, receipt, now, units }) {
    if (stored.end !== receipt.windowEnd || stored.end <= now) return { state: stored, returned: 0 };
    const returned = Math.min(units, stored.current);
    return { state: { ...stored, current: stored.current - returned }, returned };
  },

  expiresAt(state, limit, now) {
    if (state.current > 0) return state.end + limit.windowUs;
    return state.previous > 0 ? state.end : now;
  },
};
