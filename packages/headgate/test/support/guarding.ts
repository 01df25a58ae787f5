import { afterEach, expect } from 'vitest';
import { consecutiveFailures, createLimiter, fixedWindow, quota, slidingLog, slidingWindow, tokenBucket } from '../../src/index.js';
import type { CountedLimit, LimiterEvent, LimiterOptions, RuleOptions } from '../../src/index.js';
import { fakeClock } from '../../src/testing/index.js';
import { faultyStore } from './faulty-store.js';

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** A limiter over a faulty store, on a clock that stands; the deadline runs in real time. It is closed after the test. */
export function over<const Name extends string>(rules: Record<Name, RuleOptions>, options: Partial<LimiterOptions<Name>> = {}) {
  const clock = fakeClock();
  const faulty = faultyStore(clock);
  const events: LimiterEvent[] = [];
  const limiter = createLimiter<Name>({
    store: faulty.store,
    clock,
    deadline: '20ms',
    fleetSize: 1,
    notes: { max: 0 },
    onEvent: (event) => events.push(event),
    rules,
    ...options,
  });
  open.push(() => limiter.close());
  const seconds = (count: number): void => clock.advance(count * 1_000_000);
  /** What is left in the shared store. */
  const left = async (rule: string, limit: CountedLimit, key = 'key'): Promise<number> =>
    (await faulty.shared.decide({ checks: [{ rule, key, limit, cost: 1 }], dry: true })).outcomes[0]?.remaining ?? -1;
  /** Lets the pause of the breaker pass, and what is owed be charged. */
  const recovered = async (): Promise<void> => {
    seconds(1);
    await expect.poll(async () => (await limiter.check('other' as Name, 'x')).source, { interval: 1 }).toBe('store');
    await expect.poll(() => limiter.stats().owing, { interval: 1 }).toBe(0);
  };
  return { limiter, faulty, events, seconds, left, recovered };
}

export const perDay = (limit: number) => fixedWindow({ limit, window: '1d' });
/** A limit of every kind that comes back slowly. */
export const kinds: Record<string, (limit: number) => CountedLimit> = {
  bucket: (limit) => tokenBucket({ capacity: limit, refill: '1/d' }),
  window: perDay,
  fromFirst: (limit) => fixedWindow({ limit, window: '1d', from: 'first-request' }),
  sliding: (limit) => slidingWindow({ limit, window: '1d' }),
  log: (limit) => slidingLog({ limit, window: '1d' }),
  quota: (limit) => quota({ limit, period: 'month' }),
  failures: (limit) => consecutiveFailures({ limit, free: limit - 1 }),
};

/** A rule that is asked to see whether the store is in use again. */
export const other = { other: { limit: perDay(1000) } };
