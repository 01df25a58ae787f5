import { periodAt } from '../calendar.js';
import type { FixedWindowLimit, QuotaLimit } from '../limit.js';
import { fit, largestCount, passed, type Algorithm } from './algorithm.js';

/** Units taken in the window that ends at `end`. */
export interface WindowState {
  readonly count: number;
  readonly end: number;
}

interface WindowRule<L> {
  /** The end of a window that opens or is open now. */
  endAt(limit: L, now: number): number;
  /** Whether a stored end before that one is kept: windows that begin with the first request. */
  keepsEnd(limit: L): boolean;
}

/** A count that begins anew at an end; fixed windows and quotas differ only in where the ends lie. */
function countedWindow<L extends FixedWindowLimit | QuotaLimit>(rule: WindowRule<L>): Algorithm<L, WindowState> {
  return {
    cells: {
      read: ({ a, b }) => ({ count: a, end: b }),
      write(cells, { count, end }) {
        cells.a = count;
        cells.b = end;
      },
    },
    viewSize: 2,

    current(stored, limit, now) {
      const end = rule.endAt(limit, now);
      if (stored === undefined || stored.end <= now) return { count: 0, end };
      // A longer window than before keeps its count to its own end; a shorter one is cut, so that nobody waits for the old end.
      return { count: stored.count, end: rule.keepsEnd(limit) ? Math.min(stored.end, end) : end };
    },

    overreaches: (stored, limit, now) => stored.end > rule.endAt(limit, now),

    take({ state, limit, cost, least, countRefused }) {
      const { count, end } = state;
      const taken = least === 0 ? cost : fit(limit.limit - count, cost, least);
      if (taken > 0) return { state: { count: Math.min(count + taken, largestCount), end }, allowed: true, taken };
      return {
        state: countRefused ? { count: Math.min(count + cost, largestCount), end } : state,
        allowed: false,
        taken: 0,
      };
    },

    pass(cells, check, now) {
      const { limit } = check;
      const end = rule.endAt(limit, now);
      const isOver = cells.b <= now;
      const count = (isOver ? 0 : cells.a) + check.cost;
      if (count > limit.limit) return undefined;
      cells.a = count;
      cells.b = rule.keepsEnd(limit) && !isOver ? Math.min(cells.b, end) : end;
      const outcome = passed(check, now, { remaining: limit.limit - count, resetAfterUs: cells.b - now });
      outcome.windowEnd = cells.b;
      return outcome;
    },

    view: ({ state }) => [state.count, state.end],

    describe({ view, limit, now, cost }) {
      const [count = 0, end = now] = view;
      const wait = cost > limit.limit ? Number.POSITIVE_INFINITY : count + cost > limit.limit ? end - now : 0;
      return {
        remaining: Math.max(0, limit.limit - count),
        retryAfterUs: wait,
        resetAfterUs: count > 0 ? end - now : 0,
        windowEnd: end,
      };
    },

    giveBack({ stored, receipt, now, units, downTo = 0 }) {
      if (stored.end !== receipt.windowEnd || stored.end <= now) return { state: stored, returned: 0 };
      const returned = Math.min(units, Math.max(0, stored.count - downTo));
      return { state: { count: stored.count - returned, end: stored.end }, returned };
    },

    // Even with nothing in it: a window that a first request began goes on though that was given back.
    expiresAt: (state) => state.end,
  };
}

/** Fixed windows, aligned to the epoch or begun by a key's first request. */
export const fixedWindowAlgorithm = countedWindow<FixedWindowLimit>({
  endAt: ({ windowUs, from }, now) => (from === 'epoch' ? (Math.floor(now / windowUs) + 1) * windowUs : now + windowUs),
  keepsEnd: ({ from }) => from === 'first-request',
});

/** Quotas: windows whose ends are a calendar's. */
export const quotaAlgorithm = countedWindow<QuotaLimit>({
  endAt: (limit, now) => periodAt(limit, now).endUs,
  keepsEnd: () => false,
});
