import type { AttemptsState } from '../algorithms/consecutive-failures.js';
import type { ConsecutiveFailuresLimit } from '../limit.js';

/** Failures that cost no wait before the limit is reached. */
const freeOf = ({ limit, free }: ConsecutiveFailuresLimit): number => Math.min(free, limit - 1);

/** The same for one of so many processes: together no more begin at one instant, but one in each. */
const freePart = (limit: ConsecutiveFailuresLimit, fleet: number): number => Math.max(0, Math.floor((freeOf(limit) + 1) / fleet) - 1);

/** This process's share of consecutive failures: its part of those without a wait. The waits, and how many there are, stay. */
export function shareOfAttempts(limit: ConsecutiveFailuresLimit, fleet: number): ConsecutiveFailuresLimit {
  const free = freePart(limit, fleet);
  return Object.freeze({ ...limit, limit: limit.limit - freeOf(limit) + free, free });
}

/** What the store last said of a key: failures, and when the last attempt began. */
export interface KnownAttempts {
  readonly count: number;
  readonly last: number;
}

/** The known failures as a share counts them: with the same wait, the same number of waits left, and a part of what is free. */
export function attemptsInShare({ count, last }: KnownAttempts, limit: ConsecutiveFailuresLimit, fleet: number): AttemptsState {
  const [free, part] = [freeOf(limit), freePart(limit, fleet)];
  const left = Math.min(part + 1, Math.max(1, Math.floor((free + 1 - count) / fleet)));
  return { count: count > free ? count - free + part : part + 1 - left, last, first: last };
}

/** The stricter of what is counted here and what is known: a share is only ever lowered. */
export function stricter(here: AttemptsState, known: AttemptsState): AttemptsState {
  if (here.count === 0) return known;
  return { count: Math.max(here.count, known.count), last: Math.max(here.last, known.last), first: Math.min(here.first, known.first) };
}
