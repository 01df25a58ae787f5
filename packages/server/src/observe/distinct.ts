import type { Hashed } from './keyed-hash.js';

/** A power of two; one byte each. */
const registers = 2048;

/** The relative standard error of an estimate: 2.3 %. */
export const standardError = 1.04 / Math.sqrt(registers);

/** The largest rank: 32 bits of zeros, and one. */
const mostRank = 33;

/** Sums of powers, run until a double no longer changes: 53 rounds at most. */
function sigma(part: number): number {
  if (part === 1) return Number.POSITIVE_INFINITY;
  let [x, y, z, before] = [part, 1, part, -1];
  while (z !== before) {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  }
  return z;
}

function tau(part: number): number {
  if (part === 0 || part === 1) return 0;
  let [x, y, z, before] = [part, 1, 1 - part, -1];
  while (z !== before) {
    x = Math.sqrt(x);
    before = z;
    y *= 0.5;
    z -= (1 - x) ** 2 * y;
  }
  return z / 3;
}

/**
 * How many different keys were added, from 2 KiB whatever their number: HyperLogLog (Flajolet, Fusy, Gandouet and Meunier, 2007). Sketches
 * under the same seed merge into that of all their keys, exactly.
 *
 * The estimate is Ertl's "improved raw" one (arXiv:1702.01284, algorithm 6; also what Redis' PFCOUNT uses): without bias from none to 10^12
 * keys, so it needs neither the tables of HyperLogLog++ (Heule, Nunkesser and Hall, 2013) nor a switch to linear counting.
 */
export class Distinct {
  readonly #ranks = new Uint8Array(registers);
  readonly #fours = new Int32Array(this.#ranks.buffer);

  /** Index and rank come of different words: of 2^43 hashes no two are alike by construction. */
  add({ low, high }: Hashed): void {
    const index = low & (registers - 1);
    const rank = Math.clz32(high) + 1;
    if (rank > (this.#ranks[index] ?? 0)) this.#ranks[index] = rank;
  }

  /** Adds all keys of another sketch: the larger of each two ranks, four at once, as ranks need no more than seven bits of a byte. */
  merge(other: Distinct): void {
    const ours = this.#fours;
    const theirs = other.#fours;
    for (let index = 0; index < ours.length; index += 1) {
      const a = ours[index] ?? 0;
      const b = theirs[index] ?? 0;
      // The top bit of each byte stays where a's rank is not below b's, and is then spread over its byte.
      const tops = ((a | 0x80808080) - b) & 0x80808080;
      const notBelow = tops | (tops - (tops >>> 7));
      ours[index] = (a & notBelow) | (b & ~notBelow);
    }
  }

  /** About how many; see {@link standardError}. Not whole. */
  estimate(): number {
    const counts = new Uint16Array(mostRank + 1);
    for (let index = 0; index < registers; index += 1) {
      const rank = this.#ranks[index] ?? 0;
      counts[rank] = (counts[rank] ?? 0) + 1;
    }
    let z = registers * tau(1 - (counts[mostRank] ?? 0) / registers);
    for (let rank = mostRank - 1; rank > 0; rank -= 1) z = (z + (counts[rank] ?? 0)) / 2;
    z += registers * sigma((counts[0] ?? 0) / registers);
    return registers ** 2 / (2 * Math.LN2 * z);
  }
}
