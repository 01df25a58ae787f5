import type { ConcurrencyLimit } from '../limit.js';
import { type Algorithm } from './algorithm.js';

interface Holder {
  readonly id: string;
  readonly until: number;
  readonly cost: number;
}

/** Who holds how many units, and until when. */
export interface ConcurrencyState {
  readonly holders: readonly Holder[];
}

const total = (state: ConcurrencyState): number => state.holders.reduce((units, holder) => units + holder.cost, 0);

const lastUntil = (state: ConcurrencyState): number => state.holders.reduce((last, { until }) => Math.max(last, until), 0);

/** When enough holders have expired for `cost` to fit; 0 if it fits now. */
function passesAt(state: ConcurrencyState, limit: ConcurrencyLimit, cost: number): number {
  let left = total(state);
  if (left + cost <= limit.limit) return 0;
  for (const holder of state.holders.toSorted((a, b) => a.until - b.until)) {
    left -= holder.cost;
    if (left + cost <= limit.limit) return holder.until;
  }
  return 0;
}

/** The state after a holder's time was set to end `expires` from now; undefined if it holds nothing. */
export function prolong(state: ConcurrencyState, id: string, until: number): ConcurrencyState | undefined {
  if (!state.holders.some((holder) => holder.id === id)) return undefined;
  return { holders: state.holders.map((holder) => (holder.id === id ? { ...holder, until } : holder)) };
}

/** Concurrency: holders with an expiry each. */
export const concurrencyAlgorithm: Algorithm<ConcurrencyLimit, ConcurrencyState> = {
  viewSize: 3,

  current(stored, limit, now) {
    if (stored === undefined) return { holders: [] };
    const latest = now + limit.expiresUs;
    const live = stored.holders.filter((holder) => holder.until > now);
    return { holders: live.map((holder) => (holder.until > latest ? { ...holder, until: latest } : holder)) };
  },

  overreaches: (stored, limit, now) => stored.holders.some(({ until }) => until > now + limit.expiresUs),

  take({ state, limit, now, cost, holder }) {
    if (holder === undefined || total(state) + cost > limit.limit) return { state, allowed: false, taken: 0 };
    return { state: { holders: [...state.holders, { id: holder, until: now + limit.expiresUs, cost }] }, allowed: true, taken: cost };
  },

  view: ({ state, limit, cost }) => [total(state), passesAt(state, limit, cost), lastUntil(state)],

  describe({ view, limit, now, cost }) {
    const [held = 0, passes = 0, last = 0] = view;
    const wait = passes === 0 ? 0 : passes - now;
    return {
      remaining: Math.max(0, limit.limit - held),
      retryAfterUs: cost > limit.limit ? Number.POSITIVE_INFINITY : wait,
      resetAfterUs: held > 0 ? last - now : 0,
    };
  },

  giveBack({ stored, receipt, now }) {
    const gone = stored.holders.find((holder) => holder.id === receipt.holder);
    const holders = stored.holders.filter((holder) => holder !== gone);
    return { state: { holders }, returned: gone !== undefined && gone.until > now ? gone.cost : 0 };
  },

  expiresAt: (state, _limit, now) => Math.max(lastUntil(state), now),
};
