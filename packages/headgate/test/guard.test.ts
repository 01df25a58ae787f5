import { afterEach, describe, expect, it } from 'vitest';
import { createLimiter, fixedWindow, memoryStore, tokenBucket } from '../src/index.js';
import type { Group, GroupOutcome, Store } from '../src/index.js';
import { layersOver } from '../src/layers/index.js';
import { fakeClock } from '../src/testing/index.js';
import { faultyStore } from './support/faulty-store.js';
import { kinds, over, perDay } from './support/guarding.js';
import { passing, turn } from './support/limiters.js';

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

describe('a store that fails every second call', () => {
  it.each(Object.entries(kinds))('lets no more than 5 of 20 through a limit of 5 (%s)', async (_kind, limit) => {
    const { limiter, faulty } = over({ api: { limit: limit(5) } });
    let calls = 0;
    faulty.goes(() => ((calls += 1) % 2 === 0 ? 'fail' : 'answer'));
    expect(await passing(20, () => limiter.check('api', 'key'))).toBe(5);
  });
});

describe('a store of a class', () => {
  it('is asked as itself', async () => {
    class Counters implements Pick<Store, 'decide' | 'ping' | 'close'> {
      readonly #inner = memoryStore();
      decide(group: Group): Promise<GroupOutcome> {
        return this.#inner.decide(group);
      }
      ping(): Promise<void> {
        return this.#inner.ping();
      }
      close(): Promise<void> {
        return this.#inner.close();
      }
    }
    const unused = (): Promise<never> => Promise.reject(new Error('not asked for here'));
    const others = { giveBack: unused, claim: unused, extend: unused, reset: unused, ban: unused, unban: unused };
    const limiter = createLimiter({
      store: Object.assign(new Counters(), others, { layers: layersOver }),
      rules: { api: { limit: perDay(2) } },
    });
    open.push(() => limiter.close());
    for (const allowed of [true, true, false])
      expect(await limiter.check('api', 'key')).toMatchObject({ allowed, degraded: false, source: 'store' });
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
      layers = layersOver;
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
