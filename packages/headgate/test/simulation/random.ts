/** Seeded, so that a run can be had again. */
export interface Random {
  /** From 0 to just under 1. */
  next(): number;
  /** A whole number, both ends included. */
  between(least: number, most: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** Exponentially distributed, as the gaps between independent arrivals are. */
  gap(mean: number): number;
}

/** Mulberry32: good enough for schedules, and quick. */
export function seeded(seed: number): Random {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b);
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick: <T>(from: readonly T[]): T => from[between(0, from.length - 1)] as T,
    gap: (mean) => -Math.log(1 - next()) * mean,
  };
}

/** Runs with `Math.random` seeded: the layers jitter their waits by it. */
export async function withSeededMath<T>(random: Random, run: () => Promise<T>): Promise<T> {
  const original = Math.random;
  Math.random = random.next;
  try {
    return await run();
  } finally {
    Math.random = original;
  }
}
