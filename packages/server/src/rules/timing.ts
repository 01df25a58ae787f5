/** The wall clock, timers and chance, handed in so that tests need not wait. */
export interface Timing {
  /** Milliseconds since 1970, whole. */
  now(): number;
  /** Calls back once after at least `ms`; the function returned cancels it. Does not keep the process alive. */
  after(ms: number, callback: () => void): () => void;
  /** From 0 to below 1. */
  random(): number;
}

/**
 * The machine's. Ends of plans and overrides are dates that people write, so its clock is followed when it is set, unlike that of the
 * limits, which never goes back.
 */
export const systemTiming: Timing = {
  now: () => new Date().getTime(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
  random: Math.random,
};

/** Somewhere between two durations, in milliseconds: servers that began together do not go on together. */
export const between = ({ random }: Timing, [least, most]: readonly [number, number]): number => least + random() * (most - least);

/** Waits between attempts in milliseconds: doubled from `first` up to `most`, each shortened by up to a half by chance. */
export function backoff(timing: Timing, [first, most]: readonly [number, number]): { next(): number; reset(): void } {
  let attempts = 0;
  return {
    next() {
      const longest = Math.min(most, first * 2 ** Math.min(attempts, 20));
      attempts += 1;
      return between(timing, [longest / 2, longest]);
    },
    reset() {
      attempts = 0;
    },
  };
}
