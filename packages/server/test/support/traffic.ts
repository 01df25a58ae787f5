import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Decision } from 'headgate';
import { fakeClock } from 'headgate/testing';
import { createTraffic, type TrafficOptions } from '../../src/observe/traffic.js';

/** Written out, as objects of decisions are: made by a spread, a decision took fifty times as long to make, and several times to read. */
const decision = ([rule, key]: readonly [string, string], passes: boolean, reason: Decision['reason']): Decision => ({
  allowed: passes,
  rule,
  key,
  cost: 1,
  limit: 10,
  remaining: 0,
  retryAfterMs: 0,
  resetAfterMs: 0,
  reason,
  source: 'store',
  degraded: false,
  shadow: false,
  wouldAllow: passes,
  decidedAt: 0,
});

export const allowed = (rule: string, key: string): Decision => decision([rule, key], true, 'ok');
export const refused = (rule: string, key: string, reason: Decision['reason'] = 'limited'): Decision =>
  decision([rule, key], false, reason);

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const secret = 'shared by all servers of a fleet';

/** Traffic under a clock that stands until it is told, and always the same seed. */
export function watched(options: Partial<TrafficOptions> = {}) {
  const clock = fakeClock();
  const traffic = createTraffic({ secret, clock, seed: [20_261, 130], ...options });
  return { clock, traffic, pass: (seconds: number) => clock.advance(seconds * 1e6) };
}

/** Bytes in use, when nothing is left that could be collected. */
export function bytesInUse(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let i = 0; i < 3; i += 1) collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
