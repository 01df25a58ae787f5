import type { Hashed } from './keyed-hash.js';
import type { Mask, Masks } from './masks.js';

/** How often a masked key was refused: at least `refused`, at most `atMost` times. */
export interface Refusals {
  readonly mask: string;
  readonly refused: number;
  readonly atMost: number;
}

/** Counters of one summary. Of N refusals, a key that has more than N / 64 is among them, and no bound is further off than that. */
const most = 64;

/** Fields of a counter: which key (52 bits of its hash), its count, how much of that may be others', and its mask. */
const ID = 0;
const COUNT = 1;
const ERROR = 2;
const DIGEST = 3;
/** 0: not masked yet. */
const SHAPE = 4;
const width = 5;

/**
 * A key that took another's counter is masked from so many refusals on, as an HMAC takes ten times as long as all else here; and later after
 * so many masks, else clients that come four times each would cost one for every fourth refusal.
 */
const maskedFrom = 4;
const manyMasks = 256;
const maskedLater = 64;

interface Counter extends Mask {
  readonly id: number;
  count: number;
  error: number;
  digest: number;
  shape: number;
}

const idOf = ({ low, high }: Hashed): number => (high >>> 0) * 2 ** 20 + (low >>> 12);

/**
 * The keys that were refused most, in 2.5 KiB: Space-Saving (Metwally, Agrawal and El Abbadi, 2005). A new key takes the counter of the one
 * refused least and goes on from its count, which becomes the new one's error. No key is kept, only masks. A key is searched by looking at
 * all counters: as quick as an index for so few, and the least is found on the way.
 */
export class TopRefused {
  readonly #masks: Masks;
  readonly #rows = new Float64Array(most * width);
  #end = 0;
  #masked = 0;

  constructor(masks: Masks) {
    this.#masks = masks;
  }

  /** One refusal of a key. */
  add(hash: Hashed, key: string): void {
    const rows = this.#rows;
    const id = idOf(hash);
    let least = 0;
    let leastCount = Number.POSITIVE_INFINITY;
    for (let at = 0; at < this.#end; at += width) {
      const count = rows[at + COUNT] ?? 0;
      if (rows[at + ID] === id) {
        rows[at + COUNT] = count + 1;
        const sure = count + 1 - (rows[at + ERROR] ?? 0);
        if (rows[at + SHAPE] === 0 && sure >= (this.#masked < manyMasks ? maskedFrom : maskedLater)) this.#mask(at, key);
        return;
      }
      if (count < leastCount) {
        least = at;
        leastCount = count;
      }
    }
    if (this.#end < rows.length) {
      this.#write(this.#end, { id, count: 1, error: 0, digest: 0, shape: 0 });
      this.#mask(this.#end, key);
      this.#end += width;
    } else this.#write(least, { id, count: leastCount + 1, error: leastCount, digest: 0, shape: 0 });
  }

  /**
   * Adds all refusals of other summaries, within the bounds of all (Agarwal and others, "Mergeable Summaries", 2012): what one has no
   * counter for, it may have seen as often as its least.
   */
  merge(others: readonly TopRefused[]): void {
    const all = [this, ...others];
    const unknown = all.reduce((sum, summary) => sum + summary.#least(), 0);
    const merged = new Map<number, Counter>();
    for (const summary of all) {
      const least = summary.#least();
      for (const counter of summary.#counters()) {
        const known = merged.get(counter.id);
        counter.count += (known?.count ?? unknown) - least;
        counter.error += (known?.error ?? unknown) - least;
        if (counter.shape === 0 && known !== undefined) ({ digest: counter.digest, shape: counter.shape } = known);
        merged.set(counter.id, counter);
      }
    }
    const kept = [...merged.values()].sort((a, b) => b.count - a.count).slice(0, most);
    for (const [index, counter] of kept.entries()) this.#write(index * width, counter);
    this.#end = kept.length * width;
  }

  /** The keys with the most refusals that are sure, at most `count` of them. */
  top(count: number): Refusals[] {
    return this.#counters()
      .filter(({ shape }) => shape !== 0)
      .sort((a, b) => b.count - b.error - (a.count - a.error))
      .slice(0, count)
      .map((counter) => ({ mask: this.#masks.show(counter), refused: counter.count - counter.error, atMost: counter.count }));
  }

  #mask(at: number, key: string): void {
    const { digest, shape } = this.#masks.of(key);
    this.#rows[at + DIGEST] = digest;
    this.#rows[at + SHAPE] = shape;
    this.#masked += 1;
  }

  /** How often a key without a counter may have been refused. */
  #least(): number {
    if (this.#end < this.#rows.length) return 0;
    let least = Number.POSITIVE_INFINITY;
    for (let at = COUNT; at < this.#end; at += width) least = Math.min(least, this.#rows[at] ?? 0);
    return least;
  }

  #write(at: number, { id, count, error, digest, shape }: Counter): void {
    const rows = this.#rows;
    rows[at + ID] = id;
    rows[at + COUNT] = count;
    rows[at + ERROR] = error;
    rows[at + DIGEST] = digest;
    rows[at + SHAPE] = shape;
  }

  #counters(): Counter[] {
    const rows = this.#rows;
    const found: Counter[] = [];
    for (let at = 0; at < this.#end; at += width) {
      const [id, count, error] = [rows[at + ID] ?? 0, rows[at + COUNT] ?? 0, rows[at + ERROR] ?? 0];
      found.push({ id, count, error, digest: rows[at + DIGEST] ?? 0, shape: rows[at + SHAPE] ?? 0 });
    }
    return found;
  }
}
