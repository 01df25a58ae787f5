import type { Duration } from '../../src/index.js';

/**
 * A window of about `ms` that is aligned to the epoch and does not end within the next `marginMs`, so that a test that takes less
 * sees one window only.
 */
export function windowAwayFromEdge(ms: number, marginMs = ms / 3): Duration {
  for (let window = ms; ; window += Math.ceil(ms / 100)) {
    if (window - (Date.now() % window) > marginMs) return window;
  }
}
