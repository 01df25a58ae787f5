/** A place that keys can be on, and how large its part of them is. */
export interface Place {
  readonly name: string;
  /** 0: none. */
  readonly weight: number;
}

/** FNV-1a over UTF-16 units, 32 bits. */
function hash(text: string): number {
  let mixed = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) mixed = Math.imul(mixed ^ text.charCodeAt(i), 0x01000193);
  return mixed;
}

/** Murmur3's finalizer: every bit of the input changes half of the bits of the output. */
function scatter(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/**
 * Where a key lives, by weighted rendezvous hashing (Thaler and Ravishankar 1998; the logarithm method for weights): each place
 * draws a number for each key, and the best one has it. A place that comes takes an equal part from every other, and no key moves
 * between two that stay.
 */
export function rendezvous(places: readonly Place[]): (key: string) => string {
  const open = places.filter(({ weight }) => weight > 0).map(({ name, weight }) => ({ name, weight, seed: scatter(hash(name)) }));
  return (key) => {
    const drawn = hash(key);
    let best = '';
    let least = Number.POSITIVE_INFINITY;
    for (const { name, weight, seed } of open) {
      // Exponentially distributed with the weight as its rate: the least of them is the winner with the weight's part.
      const score = -Math.log((scatter(drawn ^ seed) + 0.5) / 2 ** 32) / weight;
      if (score < least) {
        least = score;
        best = name;
      }
    }
    return best;
  };
}
