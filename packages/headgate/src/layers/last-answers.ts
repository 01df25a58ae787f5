import { millionth } from '../limit.js';
import type { Check, Outcome } from '../stores/store.js';

/** Keys whose last answer is remembered; a newer one with the same place in the table replaces an older. */
const places = 32_768;

/** What a key has left, as far as this process knows. */
export interface Left {
  readonly units: number;
  /** The end of a ban, microseconds since 1970 by the store's clock; 0 if none. */
  readonly bannedUntil: number;
}

/**
 * The store's last answer for each key, in plain numbers: 28 bytes a key and no allocation, as every check writes here, for
 * the rare outage that reads it.
 */
export class LastAnswers {
  readonly #prints = new Uint32Array(places);
  /**
   * For each place: units remaining, when that was, and until when it holds (the end of the window, or of a ban; buckets refill
   * instead). Side by side, as every check touches another place.
   */
  readonly #figures = new Float64Array(places * 3);

  /** Of the key looked at last. */
  #print = 0;

  remember(check: Check, outcome: Outcome, now: number): void {
    const place = this.#placeOf(check);
    const banned = outcome.reason === 'banned';
    this.#prints[place] = this.#print;
    this.#figures[place * 3] = banned ? -1 : outcome.remaining;
    this.#figures[place * 3 + 1] = now;
    this.#figures[place * 3 + 2] = banned ? now + outcome.retryAfterUs : (outcome.windowEnd ?? now + outcome.resetAfterUs);
  }

  /** What a key has left at `now`, by the store's clock; undefined if that is not known, or it has its full limit again. */
  left(check: Check, now: number): Left | undefined {
    const place = this.#placeOf(check);
    const [remaining = 0, at = 0, until = 0] = this.#figures.subarray(place * 3, place * 3 + 3);
    if (at === 0 || this.#prints[place] !== this.#print || now >= until) return undefined;
    if (remaining < 0) return { units: 0, bannedUntil: until };
    const { limit } = check;
    if (limit.kind !== 'tokenBucket') return { units: remaining, bannedUntil: 0 };
    const flowed = (Math.max(0, now - at) * limit.creditUnits) / limit.creditUs / millionth;
    return { units: Math.min(limit.capacity, Math.floor(remaining + flowed)), bannedUntil: 0 };
  }

  /** FNV-1a (32 bits) twice in one pass: where a key is, and the print that tells it from others there. */
  #placeOf({ rule, key, limit }: Check): number {
    // No two kinds share both.
    let hash = 0x811c9dc5 ^ (limit.kind.length << 8) ^ limit.kind.charCodeAt(0);
    let print = 0x2f0b4c47;
    for (let i = 0; i < rule.length; i += 1) {
      const unit = rule.charCodeAt(i);
      hash = Math.imul(hash ^ unit, 0x01000193);
      print = Math.imul(print ^ unit, 0x5bd1e995);
    }
    for (let i = 0; i < key.length; i += 1) {
      const unit = key.charCodeAt(i);
      hash = Math.imul(hash ^ unit, 0x01000193);
      print = Math.imul(print ^ unit, 0x5bd1e995);
    }
    this.#print = (print ^ hash) >>> 0;
    return (hash ^ (hash >>> 15)) & (places - 1);
  }
}
