import { millionth } from '../limit.js';
import type { Check, Outcome, Target } from '../stores/store.js';
import { KeyHash } from './key-hash.js';

/** Keys whose last answer is remembered; a newer one with the same place in the table replaces an older. */
const places = 32_768;

/** What a key has left, as far as this process knows. */
export interface Left {
  readonly units: number;
  /** Of consecutive failures: those counted, and when the last attempt began. */
  readonly attempts?: { readonly count: number; readonly last: number };
  /** The end of a ban, microseconds since 1970 by the store's clock; 0 if none. */
  readonly bannedUntil: number;
}

/**
 * The store's last answer for each key, in plain numbers: 32 bytes a key and no allocation, as every check writes here, for
 * the rare outage that reads it.
 */
export class LastAnswers {
  /**
   * For each place: the key's print, units remaining (of consecutive failures, those counted), when that was, and until when it holds (the end
   * of the window, or of a ban; buckets refill instead). Side by side, as every check touches another place.
   */
  readonly #figures = new Float64Array(places * 4);

  readonly #hash = new KeyHash();

  remember(check: Check, outcome: Outcome, now: number): void {
    const figures = this.#figures;
    const at = this.#hash.placeOf(check, places) * 4;
    const banned = outcome.reason === 'banned';
    figures[at] = this.#hash.print;
    figures[at + 1] = banned ? -1 : (outcome.failures ?? outcome.remaining);
    figures[at + 2] = now;
    figures[at + 3] = banned ? now + outcome.retryAfterUs : (outcome.windowEnd ?? now + outcome.resetAfterUs);
  }

  /** Nothing is known of a key any more. */
  forget({ rule, key, kinds }: Target): void {
    for (const kind of kinds) {
      const at = this.#hash.placeOf({ rule, key, limit: { kind } }, places) * 4;
      if (this.#figures[at] === this.#hash.print) this.#figures[at + 2] = 0;
    }
  }

  /** What a key has left at `now`, by the store's clock; undefined if that is not known, or it has its full limit again. */
  left(check: Check, now: number): Left | undefined {
    const place = this.#hash.placeOf(check, places) * 4;
    const [print, remaining = 0, at = 0, until = 0] = this.#figures.subarray(place, place + 4);
    if (at === 0 || print !== this.#hash.print || now >= until) return undefined;
    if (remaining < 0) return { units: 0, bannedUntil: until };
    const { limit } = check;
    if (limit.kind === 'consecutiveFailures') {
      // Of a limit that forgets later than it did, the answer's time is nearer.
      return { units: 0, bannedUntil: 0, attempts: { count: remaining, last: Math.min(at, until - limit.forgetUs) } };
    }
    if (limit.kind !== 'tokenBucket') return { units: remaining, bannedUntil: 0 };
    const flowed = (Math.max(0, now - at) * limit.creditUnits) / limit.creditUs / millionth;
    return { units: Math.min(limit.capacity, Math.floor(remaining + flowed)), bannedUntil: 0 };
  }
}
