import { describe, expect, it } from 'vitest';
import { fixedWindow, slidingWindow, tokenBucket } from '../src/index.js';
import type { RuleOptions } from '../src/index.js';
import { allowed, bucket, steadily, overLeases as over } from './support/leasing.js';
import { passing } from './support/limiters.js';

describe('a group', () => {
  const rules = {
    hot: { limit: fixedWindow({ limit: 1000, window: '1d' }), mode: 'lease' },
    small: { limit: fixedWindow({ limit: 3, window: '1d' }) },
  } satisfies Record<string, RuleOptions>;

  it('takes what it can from a lease and the rest from the store, all or nothing', async () => {
    const { limiter, advance, faulty } = over(rules);
    await steadily(100, { check: () => limiter.check('hot', 'all'), advance });
    const inHand = (await limiter.check('hot', 'all')).remaining;
    faulty.asked();
    const group = () =>
      limiter.checkAll([
        { rule: 'hot', key: 'all' },
        { rule: 'small', key: 'one' },
      ]);
    expect([(await group()).allowed, (await group()).allowed, (await group()).allowed, (await group()).allowed]).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(faulty.asked().flatMap(({ checks }) => checks.map(({ rule }) => rule))).not.toContain('hot');
    expect((await limiter.check('hot', 'all')).remaining).toBe(inHand - 4);
  });

  it('of leased keys only asks nobody', async () => {
    const { limiter, advance, asked } = over({ a: rules.hot, b: rules.hot });
    const both = () =>
      limiter.checkAll([
        { rule: 'a', key: 'k' },
        { rule: 'b', key: 'k' },
      ]);
    await steadily(100, { check: both, advance });
    asked();
    const decisions = await steadily(50, { check: both, advance });
    expect(allowed(decisions)).toBe(50);
    expect(decisions.filter(({ source }) => source === 'lease').length).toBeGreaterThan(40);
    expect(asked()).toBeLessThanOrEqual(10);
  });

  it('that a lease refuses takes nothing', async () => {
    const { limiter, asked } = over({ hot: { limit: fixedWindow({ limit: 2, window: '1d' }), mode: 'lease' }, small: rules.small });
    await passing(3, () => limiter.check('hot', 'all'));
    asked();
    const group = await limiter.checkAll([
      { rule: 'small', key: 'one' },
      { rule: 'hot', key: 'all' },
    ]);
    expect(group).toMatchObject({ allowed: false, rule: 'hot', decisions: [{ allowed: true }, { allowed: false }] });
    expect(asked()).toBe(0);
    expect((await limiter.peek('small', 'one')).remaining).toBe(3);
  });
});

describe('auto', () => {
  it('is exact while a key is calm, leased while it is hot, and exact again when it has cooled down', async () => {
    const { limiter, advance } = over({ api: { limit: tokenBucket({ capacity: 1000, refill: '1000/s' }), mode: 'auto' } });
    const check = () => limiter.check('api', 'key');
    for (let i = 0; i < 30; i += 1) {
      expect((await check()).source).toBe('store');
      await advance(50);
    }
    const hot = await steadily(500, { check, advance });
    expect(hot.at(-1)?.source).toBe('lease');
    expect(hot.filter(({ source }) => source === 'lease').length).toBeGreaterThan(450);
    const cooling: string[] = [];
    for (let i = 0; i < 60; i += 1) {
      cooling.push((await check()).source);
      await advance(50);
    }
    expect(cooling.at(-1)).toBe('store');
  });

  it('passes when the store has said that it may, though it is leased by then', async () => {
    const { limiter, advance } = over(
      { api: { limit: tokenBucket({ capacity: 30, refill: '100/s' }), mode: 'auto' } },
      { notes: { max: 0 } },
    );
    const decisions = await Promise.all(Array.from({ length: 31 }, () => limiter.check('api', 'key')));
    const refused = decisions.find((decision) => !decision.allowed);
    expect(refused).toMatchObject({ source: 'store' });
    await advance(refused?.retryAfterMs ?? 0);
    expect((await limiter.check('api', 'key')).allowed).toBe(true);
  });
});

describe('a rule', () => {
  it('that changes its mode loses no count', async () => {
    const limit = fixedWindow({ limit: 100, window: '1d' });
    const modes = [undefined, 'lease', 'auto', { sync: '1s' }] as const;
    const { limiter, advance } = over({ api: { limit } });
    let passed = 0;
    for (let round = 0; round < 40; round += 1) {
      const mode = modes[(round * 7) % modes.length];
      const now = limiter.withRules({ api: mode === undefined ? { limit } : { limit, mode } });
      passed += await passing(10, () => now.check('api', 'key'));
      await advance(30);
    }
    expect(passed).toBeLessThanOrEqual(100);
    await advance(3000);
    expect(passed).toBeGreaterThanOrEqual(90);
  });

  it('leases no more keys at once than it may; the others are exact', async () => {
    const { limiter } = over({ api: bucket(10, '1/s') }, { leases: { max: 3 } });
    const sources = await Promise.all(Array.from({ length: 5 }, async (_, i) => (await limiter.check('api', `key${i}`)).source));
    expect(sources).toEqual(['lease', 'lease', 'lease', 'store', 'store']);
    expect(limiter.stats()).toMatchObject({ localKeys: 3, localDropped: 2 });
  });

  it('of a sliding window leases too, and says a retry time that holds', async () => {
    const { limiter, advance } = over({ api: { limit: slidingWindow({ limit: 10, window: '1s' }), mode: 'lease' } });
    expect(await passing(12, () => limiter.check('api', 'key'))).toBe(10);
    const refused = await limiter.check('api', 'key');
    await advance(refused.retryAfterMs);
    expect((await limiter.check('api', 'key')).allowed).toBe(true);
  });

  it('under several plans keeps what each has leased apart', async () => {
    const { limiter, advance } = over({
      api: { limit: fixedWindow({ limit: 5, window: '1d' }), plans: { pro: fixedWindow({ limit: 500, window: '1d' }) }, mode: 'lease' },
    });
    await steadily(100, { check: () => limiter.check('api', 'key', { plan: 'pro' }), advance });
    expect((await limiter.check('api', 'key')).allowed).toBe(false);
    expect((await limiter.check('api', 'key', { plan: 'pro' })).allowed).toBe(true);
  });
});
