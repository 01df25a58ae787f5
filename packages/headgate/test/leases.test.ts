import { describe, expect, it } from 'vitest';
import { fixedWindow, tokenBucket } from '../src/index.js';
import type { Decision, RuleOptions } from '../src/index.js';
import { allowed, bucket, steadily, overLeases as over } from './support/leasing.js';
import { passing, turn } from './support/limiters.js';

describe('a leased key', () => {
  it('costs a call each 50 to 100 ms at full speed, and all else is decided here', async () => {
    const { limiter, advance, asked } = over({ api: bucket(10_000, '10000/s') });
    const check = () => limiter.check('api', 'key');
    await steadily(500, { check, advance });
    asked();
    const decisions = await steadily(1000, { check, advance });
    expect(allowed(decisions)).toBe(1000);
    expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['lease']));
    const calls = asked();
    expect(calls).toBeGreaterThanOrEqual(10);
    expect(calls).toBeLessThanOrEqual(20);
    expect(limiter.stats()).toMatchObject({ decidedLocally: 1500, localKeys: 1, degraded: 0 });
  });

  it('asks for what one check needs, while nothing is known of its demand', async () => {
    const { limiter, faulty } = over({ api: bucket(100, '1/s') });
    await limiter.check('api', 'key');
    await limiter.check('api', 'key', { cost: 7 });
    expect(faulty.asked().map(({ checks }) => [checks[0]?.cost, checks[0]?.least])).toEqual([
      [1, 1],
      [7, 7],
    ]);
  });

  it('asks once for all that come in one turn of the event loop', async () => {
    const { limiter, asked } = over({ api: bucket(100, '1/s') });
    expect(allowed(await Promise.all(Array.from({ length: 60 }, () => limiter.check('api', 'key'))))).toBe(60);
    expect(asked()).toBe(1);
  });

  it('lets pass exactly what a bucket holds, and refuses with the wait for one unit', async () => {
    const { limiter } = over({ api: bucket(20, '2/s') });
    expect(await passing(21, () => limiter.check('api', 'key'))).toBe(20);
    expect(await limiter.check('api', 'key')).toMatchObject({
      allowed: false,
      reason: 'limited',
      source: 'lease',
      remaining: 0,
      retryAfterMs: 500,
      resetAfterMs: 10_000,
      limit: 20,
    });
  });

  it('passes at its retry time, for any cost', async () => {
    for (const cost of [1, 2, 5]) {
      const { limiter, advance } = over({ api: bucket(20, '2/s') });
      await passing(21, () => limiter.check('api', 'key'));
      const refused = await limiter.check('api', 'key', { cost });
      await advance(refused.retryAfterMs - 1);
      expect((await limiter.check('api', 'key', { cost })).allowed).toBe(false);
      await advance(refused.retryAfterMs);
      expect(await limiter.check('api', 'key', { cost }), `cost ${cost}`).toMatchObject({ allowed: true });
    }
  });

  it('after a short answer asks again after 50 ms, and refuses meanwhile: at most 20 calls a second', async () => {
    const { limiter, advance, asked } = over({ api: bucket(100, '100/s') });
    const check = () => limiter.check('api', 'key');
    await steadily(500, { check, advance });
    asked();
    const decisions = await steadily(2000, { check, advance });
    expect(asked()).toBeLessThanOrEqual(40);
    expect(allowed(decisions)).toBeGreaterThanOrEqual(194);
    expect(allowed(decisions)).toBeLessThanOrEqual(205);
  });

  it('of a small bucket asks again after half its time to full, so that no refill is lost', async () => {
    const { limiter, advance, asked } = over({ api: bucket(6, '100/s') });
    const check = () => limiter.check('api', 'key');
    await steadily(500, { check, advance });
    asked();
    const decisions = await steadily(2000, { check, advance });
    expect(asked()).toBeLessThanOrEqual(80);
    expect(allowed(decisions)).toBeGreaterThanOrEqual(190);
  });

  it('is asked for check by check where its bucket is full again within 50 ms', async () => {
    const { limiter, advance } = over({ api: bucket(10, '1000/s') });
    const decisions = await steadily(100, { check: () => limiter.check('api', 'key'), advance });
    expect(allowed(decisions)).toBe(100);
    expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['store']));
  });

  it('leaves half of what is left to others, and then pauses as after a short answer', async () => {
    const { limiter, advance, faulty } = over({ api: { limit: fixedWindow({ limit: 120, window: '1d' }), mode: 'lease' } });
    const check = () => limiter.check('api', 'key');
    const asked: { at: number; cost: number }[] = [];
    let passed = 0;
    for (let at = 0; at < 300; at += 1) {
      if ((await check()).allowed) passed += 1;
      asked.push(...faulty.asked().map(({ checks }) => ({ at, cost: checks[0]?.cost ?? 0 })));
      await advance(1);
    }
    const first = asked.findIndex(({ cost }) => cost > 1);
    const left = 120 - first;
    // It would spend 80 in its time.
    expect(asked[first]?.cost).toBe(Math.ceil(left / 2));
    expect((asked[first + 1]?.at ?? 0) - (asked[first]?.at ?? 0)).toBeGreaterThanOrEqual(50);
    expect(passed).toBe(120);
  });
});

describe('units in hand', () => {
  const day: RuleOptions = { limit: fixedWindow({ limit: 1000, window: '1d' }), mode: 'lease' };

  it('go back after a second in which nobody asked', async () => {
    const { limiter, advance, faulty } = over({ api: day });
    const check = () => limiter.check('api', 'key');
    const passed = allowed(await steadily(100, { check, advance }));
    const left = async () =>
      (await faulty.shared.decide({ checks: [{ rule: 'api', key: 'key', limit: day.limit as never, cost: 1 }], dry: true })).outcomes[0]
        ?.remaining;
    expect(await left()).toBeLessThan(1000 - passed);
    await advance(1100);
    await advance(0);
    expect(await left()).toBe(1000 - passed);
    expect(limiter.stats().localKeys).toBe(0);
  });

  it('go back when the limiter closes', async () => {
    const { limiter, advance, faulty } = over({ api: day });
    const passed = allowed(await steadily(100, { check: () => limiter.check('api', 'key'), advance }));
    const before = faulty.returned.length;
    await limiter.close();
    expect(faulty.returned.slice(before).reduce((sum, units) => sum + units, 0)).toBeGreaterThan(0);
    expect(passed).toBe(100);
  });

  it('of a bucket come back only as far as they have not flowed back by themselves', async () => {
    const { limiter, advance, faulty } = over({ api: bucket(1000, '10/s') });
    await steadily(100, { check: () => limiter.check('api', 'key'), advance });
    await advance(1100);
    await advance(0);
    const given = faulty.returned.reduce((sum, units) => sum + units, 0);
    expect(given).toBeGreaterThan(0);
    // Of the 1,000, 100 were spent and 12 flowed back.
    const limit = tokenBucket({ capacity: 1000, refill: '10/s' });
    const { outcomes } = await faulty.shared.decide({ checks: [{ rule: 'api', key: 'key', limit, cost: 1 }], dry: true });
    expect(outcomes[0]?.remaining).toBeLessThanOrEqual(1000 - 100 + 12);
  });

  it('are not spent past the end of their window', async () => {
    const { limiter, another, clock, advance } = over({ api: { limit: fixedWindow({ limit: 100, window: '1s' }), mode: 'lease' } });
    const other = another();
    await advance(1000 - ((clock.nowUs() / 1000) % 1000) + 900);
    const first = allowed(await steadily(99, { check: () => limiter.check('api', 'key'), advance }));
    const second = await Promise.all(Array.from({ length: 150 }, (_, i) => (i % 2 ? limiter : other).check('api', 'key')));
    expect(first).toBeLessThanOrEqual(100);
    // A whole window for the next one, whatever was in hand.
    await advance(2);
    const next = await Promise.all(Array.from({ length: 150 }, (_, i) => (i % 2 ? limiter : other).check('api', 'key')));
    expect(first + allowed(second)).toBeLessThanOrEqual(100);
    expect(allowed(next)).toBe(100);
  });

  it('are spent first when the store is away, then each check is decided without it', async () => {
    const { limiter, advance, faulty } = over({ api: { ...day, whenUnavailable: 'refuse' } });
    const check = () => limiter.check('api', 'key');
    await steadily(100, { check, advance });
    faulty.goes('fail');
    const decisions = await steadily(300, { check, advance });
    const sources = decisions.map(({ source }) => source);
    const first = sources.indexOf('fallback');
    expect(first).toBeGreaterThan(5);
    expect(new Set(sources.slice(0, first))).toEqual(new Set(['lease']));
    expect(decisions.slice(first).some((decision) => decision.allowed)).toBe(false);
    expect(decisions.at(-1)).toMatchObject({ degraded: true, reason: 'store-unavailable' });
    faulty.goes('answer');
    await advance(1000);
    await check();
    expect(await check()).toMatchObject({ allowed: true, source: 'lease', degraded: false });
  });

  it('that came after the deadline go back', async () => {
    const { limiter, faulty } = over({ api: { ...day, whenUnavailable: 'refuse' } }, { deadline: '5ms' });
    faulty.goes('hold');
    expect(await limiter.check('api', 'key', { cost: 5 })).toMatchObject({ allowed: false, degraded: true });
    faulty.release();
    await turn();
    await turn();
    expect(faulty.returned).toEqual([5]);
  });

  it('count for nothing once their key is reset or banned', async () => {
    const { limiter, advance } = over({ api: day });
    const check = () => limiter.check('api', 'key');
    await steadily(100, { check, advance });
    await limiter.ban('api', 'key', '10s');
    expect(await check()).toMatchObject({ allowed: false, reason: 'banned' });
    await limiter.unban('api', 'key');
    await limiter.reset('api', 'key');
    expect(await check()).toMatchObject({ allowed: true, remaining: 999 });
  });

  it('are given back by a refund from the time they were taken at', async () => {
    const { limiter, advance } = over({ api: bucket(100, '10/s') });
    const decisions = await steadily(50, { check: () => limiter.check('api', 'key'), advance });
    const last = decisions.at(-1);
    expect(last?.source).toBe('lease');
    // It flows back from when the lot was taken, not from when it was spent.
    expect(await limiter.refund(last as Decision)).toBeLessThan(1);
  });
});

describe('what is in hand and what the store has', () => {
  it('add up for one check', async () => {
    const { limiter, advance, faulty } = over({ api: { limit: fixedWindow({ limit: 1000, window: '1d' }), mode: 'lease' } });
    await steadily(200, { check: () => limiter.check('api', 'key'), advance });
    faulty.asked();
    expect(await limiter.check('api', 'key', { cost: 800 })).toMatchObject({ allowed: true, remaining: 0 });
    expect(faulty.asked()[0]?.checks[0]?.cost).toBeLessThan(800);
  });

  it('of a bucket pass a larger cost at its retry time', async () => {
    const { limiter, advance } = over({ api: bucket(200, '100/s') });
    await steadily(120, { check: () => limiter.check('api', 'key'), advance });
    let decision = await limiter.check('api', 'key', { cost: 150 });
    expect(decision.allowed).toBe(false);
    await advance(decision.retryAfterMs);
    decision = await limiter.check('api', 'key', { cost: 150 });
    expect(decision.allowed).toBe(true);
  });

  it('go back by a ban, and are there again after it', async () => {
    const { limiter, advance } = over({ api: { limit: fixedWindow({ limit: 1000, window: '1d' }), mode: 'lease' } });
    await steadily(200, { check: () => limiter.check('api', 'key'), advance });
    await limiter.ban('api', 'key', '1s');
    await limiter.unban('api', 'key');
    expect((await limiter.peek('api', 'key')).remaining).toBe(800);
  });
});

describe('a short window', () => {
  it('is asked for check by check, as it would be over before a lot is spent', async () => {
    const { limiter, advance } = over({ api: { limit: fixedWindow({ limit: 20, window: '20ms' }), mode: 'lease' } });
    const decisions = await steadily(100, { check: () => limiter.check('api', 'key'), advance });
    expect(allowed(decisions)).toBe(100);
    expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['store']));
  });
});

describe('a leased check', () => {
  it('that waits for one ask after the other is answered by its deadline', async () => {
    const { limiter, faulty } = over(
      { api: { limit: fixedWindow({ limit: 1000, window: '1d' }), mode: 'lease', whenUnavailable: 'refuse' } },
      { deadline: '60ms' },
    );
    const inner = faulty.store.decide;
    // Each call takes most of a deadline.
    const slow: typeof inner = async (group, ticket) => {
      await new Promise((resolve) => setTimeout(resolve, 45));
      return inner(group, ticket);
    };
    Object.assign(faulty.store, { decide: slow });
    const waits = await Promise.all(
      [1, 50, 2, 70].map(async (cost, i) => {
        await new Promise((resolve) => setTimeout(resolve, 10 * i));
        const from = performance.now();
        await limiter.check('api', 'key', { cost });
        return performance.now() - from;
      }),
    );
    // Three deadlines one after the other would be 180 ms.
    expect(Math.max(...waits)).toBeLessThan(120);
  });
});

describe('a ban by another process', () => {
  it('reaches what is leased within a second', async () => {
    const { limiter, another, advance } = over({ api: bucket(10_000, '10000/s') });
    const other = another();
    const check = () => limiter.check('api', 'key');
    await steadily(500, { check, advance });
    await other.ban('api', 'key', '10s');
    const decisions = await steadily(1200, { check, advance });
    const first = decisions.findIndex((decision) => !decision.allowed);
    expect(first).toBeGreaterThanOrEqual(0);
    expect(first).toBeLessThanOrEqual(1000);
    expect(decisions.at(-1)).toMatchObject({ allowed: false, reason: 'banned' });
  });
});
