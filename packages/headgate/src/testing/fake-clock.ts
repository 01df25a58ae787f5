import type { Clock } from '../clock.js';

/** A clock that stands until it is told. */
export interface FakeClock extends Clock {
  /** Moves on by `us` microseconds, calling back what is due on the way, in order. */
  advance(us: number): void;
}

interface Due {
  readonly atUs: number;
  readonly callback: () => void;
}

/**
 * A clock for tests.
 *
 * @param startUs - microseconds since 1970 to begin with; 2026-01-01T00:00:00Z by default
 * @example
 * ```ts
 * import { createLimiter, memoryStore, tokenBucket } from 'headgate';
 * import { fakeClock } from 'headgate/testing';
 *
 * const clock = fakeClock();
 * const limiter = createLimiter({
 *   store: memoryStore({ clock }),
 *   clock,
 *   rules: { search: { limit: tokenBucket({ capacity: 1, refill: '1/s' }) } },
 * });
 * await limiter.check('search', 'key42');
 * clock.advance(1_000_000);
 * console.log((await limiter.check('search', 'key42')).allowed); // true
 * ```
 */
export function fakeClock(startUs = 1_767_225_600_000_000): FakeClock {
  let now = startUs;
  let due: Due[] = [];
  return {
    nowUs: () => now,
    after(ms, callback) {
      const entry: Due = { atUs: now + Math.round(ms * 1000), callback };
      due.push(entry);
      return () => {
        due = due.filter((other) => other !== entry);
      };
    },
    advance(us) {
      const end = now + us;
      for (;;) {
        const next = due.filter(({ atUs }) => atUs <= end).sort((a, b) => a.atUs - b.atUs)[0];
        if (next === undefined) break;
        due = due.filter((entry) => entry !== next);
        now = Math.max(now, next.atUs);
        next.callback();
      }
      now = end;
    },
  };
}
