import { afterEach, describe, expect, it } from 'vitest';
import { concurrency, createLimiter, fixedWindow, quota, slidingLog, slidingWindow, tokenBucket } from '../src/index.js';
import type { CountedLimit, LimiterEvent, LimiterOptions, RuleOptions } from '../src/index.js';
import { fakeClock } from '../src/testing/index.js';
import { faultyStore } from './support/faulty-store.js';
import { passing, turn } from './support/limiters.js';

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** A limiter over a faulty store, on a clock that stands; the deadline runs in real time. */
function over<const Name extends string>(rules: Record<Name, RuleOptions>, options: Partial<LimiterOptions<Name>> = {}) {
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

const perDay = (limit: number) => fixedWindow({ limit, window: '1d' });
const kinds: Record<string, (limit: number) => CountedLimit> = {
  bucket: (limit) => tokenBucket({ capacity: limit, refill: '1/d' }),
  window: perDay,
  fromFirst: (limit) => fixedWindow({ limit, window: '1d', from: 'first-request' }),
  sliding: (limit) => slidingWindow({ limit, window: '1d' }),
  log: (limit) => slidingLog({ limit, window: '1d' }),
  quota: (limit) => quota({ limit, period: 'month' }),
};
const other = { other: { limit: perDay(1000) } };

describe('a store that fails every second call', () => {
  it.each(Object.entries(kinds))('lets no more than 5 of 20 through a limit of 5 (%s)', async (_kind, limit) => {
    const { limiter, faulty } = over({ api: { limit: limit(5) } });
    let calls = 0;
    faulty.goes(() => ((calls += 1) % 2 === 0 ? 'fail' : 'answer'));
    expect(await passing(20, () => limiter.check('api', 'key'))).toBe(5);
  });
});

describe('without the store', () => {
  it('each rule answers as it says, never by an exception', async () => {
    const limit = perDay(2);
    const { limiter, faulty } = over({
      local: { limit },
      allow: { limit, whenUnavailable: 'allow' },
      refuse: { limit, whenUnavailable: 'refuse' },
    });
    faulty.goes('fail');
    for (let i = 0; i < 5; i += 1) {
      expect(await limiter.check('local', 'key')).toMatchObject({ allowed: i < 2, degraded: true, source: 'fallback' });
      expect(await limiter.check('allow', 'key')).toMatchObject({ allowed: true, reason: 'store-unavailable', degraded: true });
      expect(await limiter.check('refuse', 'key')).toMatchObject({ allowed: false, reason: 'store-unavailable', degraded: true });
    }
    expect(limiter.stats()).toMatchObject({ checks: 15, degraded: 15 });
  });

  it.each(Object.entries(kinds))('a process has its part of what the store last said was left (%s)', async (_kind, limit) => {
    const { limiter, faulty } = over({ api: { limit: limit(20) } }, { fleetSize: 4 });
    await limiter.check('api', 'used', { cost: 12 });
    await limiter.check('api', 'empty', { cost: 20 });
    await limiter.check('api', 'last', { cost: 18 });
    faulty.goes('fail');
    expect(await passing(10, () => limiter.check('api', 'used'))).toBe(2);
    expect(await passing(10, () => limiter.check('api', 'empty'))).toBe(0);
    expect(await passing(10, () => limiter.check('api', 'last'))).toBe(1);
    expect(await passing(10, () => limiter.check('api', 'new'))).toBe(5);
  });

  it('what the store last said ages: buckets refill, windows end', async () => {
    const rules = {
      bucket: { limit: tokenBucket({ capacity: 10, refill: '1/s' }) },
      window: { limit: fixedWindow({ limit: 10, window: '10s' }) },
    };
    const { limiter, faulty, seconds } = over(rules);
    for (const rule of ['bucket', 'window'] as const) await limiter.check(rule, 'key', { cost: 10 });
    seconds(4);
    faulty.goes('fail');
    expect(await passing(10, () => limiter.check('bucket', 'key'))).toBe(4);
    expect(await passing(10, () => limiter.check('window', 'key'))).toBe(0);
    seconds(6);
    expect(await passing(20, () => limiter.check('window', 'key'))).toBe(10);
  });

  it('a banned key stays banned, also one that another process banned', async () => {
    const limit = perDay(5);
    const { limiter, faulty, seconds } = over({ api: { limit } });
    await faulty.shared.ban({ rule: 'api', key: 'theirs', kinds: ['fixedWindow'] }, 60_000_000);
    expect(await limiter.check('api', 'theirs')).toMatchObject({ reason: 'banned' });
    await limiter.ban('api', 'ours', '1m');
    faulty.goes('fail');
    for (const key of ['theirs', 'ours']) expect(await limiter.check('api', key)).toMatchObject({ allowed: false, reason: 'banned' });
    seconds(61);
    for (const key of ['theirs', 'ours']) expect(await limiter.check('api', key)).toMatchObject({ allowed: true });
  });
});

describe('a store that fails', () => {
  it('is left alone after three failures in a row, then tried by one call at a time, and in use again at the first success', async () => {
    const { limiter, faulty, seconds, events } = over({ api: { limit: perDay(1000) } });
    faulty.goes('fail');
    await passing(20, () => limiter.check('api', 'key'));
    expect(faulty.asked()).toHaveLength(3);
    expect(limiter.stats().unavailable).toEqual(['store']);
    for (let i = 0; i < 3; i += 1) {
      seconds(1);
      await Promise.all(Array.from({ length: 10 }, () => limiter.check('api', 'other')));
      expect(faulty.asked()).toHaveLength(1);
    }
    faulty.goes('answer');
    await passing(5, () => limiter.check('api', 'key'));
    expect(faulty.asked()).toHaveLength(0);
    seconds(1);
    expect(await limiter.check('api', 'new')).toMatchObject({ source: 'store' });
    expect(await limiter.check('api', 'new')).toMatchObject({ source: 'store' });
    expect(events.map(({ type }) => type)).toEqual(['unavailable', 'available']);
    expect(limiter.stats().unavailable).toEqual([]);
  });

  it('is not left alone for one hiccup that many calls met together', async () => {
    const { limiter, faulty, seconds } = over({ api: { limit: perDay(1000) } });
    faulty.goes('hold');
    const together = Array.from({ length: 50 }, () => limiter.check('api', 'key'));
    seconds(0.02);
    for (const { degraded } of await Promise.all(together)) expect(degraded).toBe(true);
    faulty.goes('answer');
    faulty.release();
    expect(await limiter.check('api', 'new')).toMatchObject({ source: 'store' });
  });
});

describe('once the store is back', () => {
  it.each(Object.entries(kinds))('it is charged with what passed meanwhile, once (%s)', async (_kind, limit) => {
    const { limiter, faulty, left, recovered } = over({ api: { limit: limit(10) }, ...other });
    await limiter.check('api', 'key', { cost: 3 });
    faulty.goes('fail');
    expect(await passing(4, () => limiter.check('api', 'key'))).toBe(4);
    faulty.goes('answer');
    await recovered();
    expect(await left('api', limit(10))).toBe(3);
    expect(await passing(10, () => limiter.check('api', 'key'))).toBe(3);
    expect(await left('api', limit(10))).toBe(0);
  });

  it('the check of a key that is owed for is decided on the charged counter, though it is the first call', async () => {
    const { limiter, faulty, seconds } = over({ api: { limit: perDay(5) } });
    faulty.goes('fail');
    expect(await passing(9, () => limiter.check('api', 'key'))).toBe(5);
    faulty.goes('answer');
    seconds(1);
    expect(await limiter.check('api', 'key')).toMatchObject({ allowed: false, source: 'store', remaining: 0 });
  });

  it('a window that has ended is charged nothing', async () => {
    const limit = fixedWindow({ limit: 5, window: '10s' });
    const { limiter, faulty, seconds, left, recovered } = over({ api: { limit }, ...other });
    faulty.goes('fail');
    expect(await passing(9, () => limiter.check('api', 'key'))).toBe(5);
    seconds(10);
    expect(await passing(2, () => limiter.check('api', 'key'))).toBe(2);
    faulty.goes('answer');
    await recovered();
    expect(await left('api', limit)).toBe(3);
  });

  it('a bucket of 20 at 2/s that was emptied for 600 s under full load serves the client at its rate at once', async () => {
    const limit = tokenBucket({ capacity: 20, refill: '2/s' });
    const { limiter, faulty, seconds, left, recovered } = over({ api: { limit }, ...other });
    faulty.goes('fail');
    let passed = 0;
    for (let tenths = 0; tenths < 6000; tenths += 1) {
      passed += await passing(2, () => limiter.check('api', 'key'));
      seconds(0.1);
    }
    expect(passed).toBe(20 + 2 * 600 - 1);
    faulty.goes('answer');
    await recovered();
    expect(await left('api', limit)).toBeLessThanOrEqual(3);
    expect(await passing(10, () => limiter.check('api', 'key'))).toBeGreaterThan(0);
    let served = 0;
    for (let tenths = 0; tenths < 100; tenths += 1) {
      served += await passing(2, () => limiter.check('api', 'key'));
      seconds(0.1);
    }
    expect(served).toBeGreaterThanOrEqual(19);
    expect(served).toBeLessThanOrEqual(21);
  });

  it('a rule that allows is charged with at most its limit', async () => {
    const limit = tokenBucket({ capacity: 5, refill: '1/s' });
    const { limiter, faulty, left, recovered } = over({ api: { limit, whenUnavailable: 'allow' }, ...other });
    faulty.goes('fail');
    expect(await passing(100, () => limiter.check('api', 'key'))).toBe(100);
    faulty.goes('answer');
    await recovered();
    // A second has passed meanwhile.
    expect(await left('api', limit)).toBeLessThanOrEqual(1);
    expect(await passing(5, () => limiter.check('api', 'key'))).toBeLessThanOrEqual(1);
  });

  it('a settle that could not be charged is', async () => {
    const limit = perDay(100);
    const { limiter, faulty, left, recovered } = over({ api: { limit }, ...other });
    const reserved = await limiter.reserve('api', 'key', { cost: 10 });
    faulty.goes('fail');
    expect(await reserved.settle(40)).toEqual({ returned: 0, charged: 30 });
    faulty.goes('answer');
    await recovered();
    expect(await left('api', limit)).toBe(60);
  });

  it('the next outage begins from what it says then, not from the last one', async () => {
    const { limiter, faulty, recovered } = over({ api: { limit: perDay(10) }, ...other });
    for (const expected of [4, 4]) {
      faulty.goes('fail');
      expect(await passing(expected, () => limiter.check('api', 'key'))).toBe(expected);
      faulty.goes('answer');
      await recovered();
    }
    faulty.goes('fail');
    expect(await passing(10, () => limiter.check('api', 'key'))).toBe(2);
  });
});

describe('a call of unknown fate', () => {
  it('whose late answer is a yes was counted, and is not charged', async () => {
    const limit = perDay(5);
    const { limiter, faulty, left, recovered } = over({ api: { limit }, ...other });
    faulty.goes('hold');
    expect(await limiter.check('api', 'key')).toMatchObject({ allowed: true, degraded: true });
    faulty.goes('answer');
    faulty.release();
    await recovered();
    expect(await left('api', limit)).toBe(4);
  });

  it('whose late answer is a no, but which passed here, is charged', async () => {
    const limit = tokenBucket({ capacity: 5, refill: '1/d' });
    const { limiter, faulty, left, recovered } = over({ api: { limit }, ...other });
    faulty.goes('hold');
    expect(await limiter.check('api', 'key', { cost: 3 })).toMatchObject({ allowed: true, degraded: true });
    await faulty.shared.decide({ checks: [{ rule: 'api', key: 'key', limit, cost: 3 }] });
    faulty.goes('answer');
    faulty.release();
    await recovered();
    expect(await left('api', limit)).toBe(0);
    // In debt by one.
    const { retryAfterMs } = await limiter.peek('api', 'key');
    expect(retryAfterMs).toBeGreaterThan(2 * 86_400_000 - 10_000);
    expect(retryAfterMs).toBeLessThanOrEqual(2 * 86_400_000);
  });

  it('whose connection was lost is not charged: it may have been counted', async () => {
    const limit = perDay(5);
    const { limiter, faulty, left, recovered } = over({ api: { limit }, ...other });
    faulty.goes('lose');
    expect(await limiter.check('api', 'key')).toMatchObject({ allowed: true, degraded: true });
    faulty.goes('answer');
    await recovered();
    expect(await left('api', limit)).toBe(4);
  });

  it('whose late answer is a yes, but which was refused here, is given back', async () => {
    const limit = perDay(5);
    const { limiter, faulty, left } = over({ api: { limit, whenUnavailable: 'refuse' } });
    faulty.goes('hold');
    expect(await limiter.check('api', 'key', { cost: 2 })).toMatchObject({ allowed: false, degraded: true });
    faulty.release();
    await expect.poll(() => faulty.returned).toEqual([2]);
    expect(await left('api', limit)).toBe(5);
  });

  it('of a holder that is released meanwhile, ends in the store too', async () => {
    const limit = concurrency({ limit: 1, expires: '5m' });
    const { limiter, faulty, left } = over({ jobs: { limit } });
    faulty.goes('hold');
    const held = await limiter.check('jobs', 'key');
    expect(held).toMatchObject({ allowed: true, degraded: true });
    faulty.goes('answer');
    faulty.release();
    await turn();
    expect(await left('jobs', limit)).toBe(0);
    expect(await limiter.release(held)).toBe(true);
    expect(await left('jobs', limit)).toBe(1);
  });
});

describe('what the user says of the fleet', () => {
  it('is assumed while the store has not told; without it each decides alone, with one warning', async () => {
    const limit = perDay(8);
    const four = over({ api: { limit } }, { fleetSize: 4 });
    four.faulty.goes('fail');
    expect(await passing(10, () => four.limiter.check('api', 'key'))).toBe(2);
  });

  it('larger than a limit is warned of at load, once for each rule', async () => {
    const { events, limiter } = over(
      {
        small: { limit: perDay(3) },
        large: { limit: perDay(8) },
        closed: { limit: perDay(0) },
        strict: { limit: perDay(1), whenUnavailable: 'refuse' },
      },
      { fleetSize: 8 },
    );
    limiter.withRules({ small: { limit: perDay(3) } });
    expect(events).toMatchObject([{ type: 'limit-below-fleet', message: expect.stringContaining('"small"') as string }]);
    expect(events[0]?.message).not.toMatch(/large|closed|strict/);
  });
});

describe('what was refused, given back or counted after all', () => {
  it('is not charged: a refund without the store takes it off what is owed', async () => {
    const limit = perDay(10);
    const { limiter, faulty, left, recovered } = over({ api: { limit }, ...other });
    faulty.goes('fail');
    for (let i = 0; i < 10; i += 1) expect(await limiter.refund(await limiter.check('api', 'key'))).toBe(1);
    await limiter.check('api', 'key');
    faulty.goes('answer');
    await recovered();
    expect(await left('api', limit)).toBe(9);
  });

  it('is charged before the limiter is closed, if the store is there', async () => {
    const limit = perDay(10);
    const { limiter, faulty } = over({ api: { limit } });
    faulty.goes('fail');
    await limiter.check('api', 'key');
    faulty.goes('answer');
    const closing = limiter.close();
    await closing;
    expect(faulty.asked().at(-1)?.checks[0]).toMatchObject({ cost: 1, least: 0 });
  });

  it('of a late refusal that counts was counted by the store, and is not charged again', async () => {
    const limit = perDay(5);
    const { limiter, faulty, left, recovered } = over({ api: { limit, countRefused: true }, ...other });
    faulty.goes('hold');
    await limiter.check('api', 'key', { cost: 3 });
    await faulty.shared.decide({ checks: [{ rule: 'api', key: 'key', limit, cost: 3 }] });
    faulty.goes('answer');
    faulty.release();
    await recovered();
    expect(await left('api', limit)).toBe(0);
    await faulty.shared.decide({ checks: [{ rule: 'api', key: 'key', limit: perDay(7), cost: 1 }] });
    expect(await left('api', perDay(7))).toBe(0);
  });
});

describe('a store of the user’s own', () => {
  it('that answers nonsense is decided without, and never becomes an unhandled rejection', async () => {
    const store = { ...faultyStore(fakeClock()).store, decide: () => Promise.resolve(undefined as never) };
    const limiter = createLimiter({ store, fleetSize: 1, onEvent: () => undefined, rules: { api: { limit: perDay(2) } } });
    open.push(() => limiter.close());
    expect(await limiter.check('api', 'key')).toMatchObject({ allowed: true, degraded: true });
  });

  it('may be a class, with places of its own', async () => {
    const { store, goes } = faultyStore(fakeClock());
    class Mine {
      readonly #n = 2;
      decide = store.decide;
      giveBack = store.giveBack;
      claim = store.claim;
      extend = store.extend;
      reset = store.reset;
      ban = store.ban;
      unban = store.unban;
      ping = store.ping;
      close = store.close;
      placeOf(key: string): string {
        return String(key.length % this.#n);
      }
    }
    const clock = fakeClock();
    const limiter = createLimiter({
      store: new Mine(),
      clock,
      fleetSize: 1,
      notes: { max: 0 },
      onEvent: () => undefined,
      rules: { api: { limit: perDay(1000) } },
    });
    open.push(() => limiter.close());
    goes(({ checks }) => (checks.some(({ key }) => key === 'a') ? 'fail' : 'answer'));
    await passing(5, () => limiter.check('api', 'a'));
    expect(limiter.stats().unavailable).toEqual(['store']);
    expect(await limiter.check('api', 'bb')).toMatchObject({ source: 'store' });
    goes('answer');
    clock.advance(1_000_000);
    // A group over both places closes the breaker again, too.
    const group = [
      { rule: 'api', key: 'a' },
      { rule: 'api', key: 'bb' },
    ] as const;
    expect(await limiter.checkAll(group)).toMatchObject({ source: 'store' });
    expect(limiter.stats().unavailable).toEqual([]);
  });

  it('and a listener that rejects hurt nobody', async () => {
    const { store, goes } = faultyStore(fakeClock());
    const onEvent = () => Promise.reject(new Error('the webhook is away')) as unknown as undefined;
    const limiter = createLimiter({ store, fleetSize: 1, onEvent, rules: { api: { limit: perDay(5) } } });
    open.push(() => limiter.close());
    goes('fail');
    expect(await passing(10, () => limiter.check('api', 'key'))).toBe(5);
    await turn();
  });
});

describe('a ban lifted by another process', () => {
  it('is lifted here too, once the store has said so', async () => {
    const { limiter, faulty } = over({ api: { limit: perDay(5) } });
    await limiter.ban('api', 'key', '1h');
    await faulty.shared.unban({ rule: 'api', key: 'key', kinds: ['fixedWindow'] });
    expect(await limiter.check('api', 'key')).toMatchObject({ allowed: true, source: 'store' });
    faulty.goes('fail');
    expect(await limiter.check('api', 'key')).toMatchObject({ allowed: true, degraded: true });
  });
});
