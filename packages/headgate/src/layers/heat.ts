import type { Check } from '../stores/store.js';
import { KeyHash } from './key-hash.js';

/** Keys whose heat is known; of two with the same place only the one asked for last. */
const places = 8192;
/** What is counted together. */
const spanUs = 200_000;

/** How often keys are asked for in this process, in plain numbers: 16 bytes a key and no allocation. */
export class Heat {
  readonly #hash = new KeyHash();
  readonly #prints = new Uint32Array(places);
  readonly #counts = new Uint32Array(places);
  readonly #since = new Float64Array(places);
  readonly #most: number;

  /** A key is hot from so many checks a second on. */
  constructor(perSecond: number) {
    this.#most = (perSecond * spanUs) / 1e6;
  }

  /** Counts one check; whether its key is hot by now. */
  isHot(check: Check, now: number): boolean {
    const place = this.#hash.placeOf(check, places);
    const since = this.#since[place] ?? 0;
    const count = this.#prints[place] === this.#hash.print && now - since < spanUs ? (this.#counts[place] ?? 0) + 1 : 1;
    this.#counts[place] = count;
    if (count === 1) {
      this.#prints[place] = this.#hash.print;
      this.#since[place] = now;
    }
    return count >= this.#most;
  }
}
