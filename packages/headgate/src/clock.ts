/** Time as stores and layers see it; injected, so that tests need not sleep. */
export interface Clock {
  /** Microseconds since 1970, whole, never going back within a process. */
  nowUs(): number;
  /** Calls back once after at least `ms`; the function returned cancels it. Does not keep the process alive if `unref`. */
  after(ms: number, callback: () => void, options?: { unref?: boolean }): () => void;
}

const origins = new WeakMap<Clock, number>();

/** The wall clock, read once, and a monotonic clock from there: a step of the machine's clock does not reach the limits. */
export function systemClock(): Clock {
  const startUs = Date.now() * 1000 - Math.floor(performance.now() * 1000);
  const clock: Clock = {
    nowUs: () => startUs + Math.floor(performance.now() * 1000),
    after(ms, callback, options) {
      const timer = setTimeout(callback, ms);
      if (options?.unref) timer.unref();
      return () => clearTimeout(timer);
    },
  };
  origins.set(clock, startUs / 1000);
  return clock;
}

/** How many milliseconds a clock is ahead of `performance.now()`, so that one reading serves both; undefined if it does not go like it. */
export const originMs = (clock: Clock): number | undefined => origins.get(clock);
