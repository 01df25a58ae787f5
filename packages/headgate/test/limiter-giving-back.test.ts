import { describe, expect, it } from 'vitest';
import { concurrency, createLimiter, StoreError, type Store } from '../src/index.js';
import { countingStore } from './support/counting-store.js';
import { passing, perMinute, withClock } from './support/limiters.js';

describe('concurrency', () => {
  it('a holder counts until it is released, and is released once', async () => {
    const { limiter } = withClock({ jobs: { limit: concurrency({ limit: 2, expires: '10s' }) } });
    const [first, second, third] = [
      await limiter.check('jobs', 'key'),
      await limiter.check('jobs', 'key'),
      await limiter.check('jobs', 'key'),
    ];
    expect([first.allowed, second.allowed, third.allowed]).toEqual([true, true, false]);
    expect([await limiter.release(third), await limiter.extend(third)]).toEqual([false, false]);
    expect(await Promise.all([limiter.release(first), limiter.release(first)])).toEqual([true, false]);
    expect(await limiter.extend(first)).toBe(false);
    expect(await passing(3, () => limiter.check('jobs', 'key'))).toBe(1);
    expect(await limiter.refund(second)).toBe(1);
    expect(await limiter.release(second)).toBe(false);
  });

  it('a holder that was extended lasts on, a crashed one frees itself', async () => {
    const { limiter, seconds } = withClock({ jobs: { limit: concurrency({ limit: 2, expires: '10s' }) } });
    const working = await limiter.check('jobs', 'key');
    await limiter.check('jobs', 'key');
    await seconds(6);
    expect(await limiter.extend(working)).toBe(true);
    await seconds(6);
    expect(await limiter.peek('jobs', 'key')).toMatchObject({ allowed: true, remaining: 1 });
    await seconds(4);
    expect(await limiter.extend(working)).toBe(false);
    expect(await limiter.release(working)).toBe(false);
    expect(await limiter.peek('jobs', 'key')).toMatchObject({ remaining: 2 });
  });
});

describe('giving back while the store is away', () => {
  it('answers that nothing was done and counts it, while ban, unban, reset and ready reject', async () => {
    const away = (): Promise<never> => Promise.reject(new StoreError('away'));
    const inner = countingStore();
    const store: Store = { ...inner, giveBack: away, claim: away, extend: away, reset: away, ban: away, unban: away, ping: away };
    const limiter = createLimiter({
      store,
      deadline: '2s',
      rules: { api: { limit: perMinute(10) }, jobs: { limit: concurrency({ limit: 1, expires: '1m' }) } },
    });
    expect(await limiter.refund(await limiter.check('api', 'key'))).toBe(0);
    expect(await (await limiter.reserve('api', 'key')).cancel()).toEqual({ returned: 0, charged: 0 });
    const held = await limiter.check('jobs', 'key');
    expect([await limiter.extend(held), await limiter.release(held)]).toEqual([false, false]);
    expect(limiter.stats()).toMatchObject({ checks: 3, degraded: 0, unreturned: 4 });
    for (const verb of [
      () => limiter.reset('api', 'key'),
      () => limiter.ban('api', 'key', '1s'),
      () => limiter.unban('api', 'key'),
      () => limiter.ready(),
    ]) {
      await expect(verb()).rejects.toThrow(StoreError);
    }
  });

  it('what was taken without the store is given back without it', async () => {
    const inner = countingStore();
    const store: Store = {
      ...inner,
      decide: () => Promise.reject(new StoreError('away')),
      giveBack: () => Promise.reject(new Error('not asked for')),
    };
    const limiter = createLimiter({ store, deadline: '2s', rules: { api: { limit: perMinute(3) } } });
    const taken = await limiter.check('api', 'key', { cost: 3 });
    expect(taken).toMatchObject({ allowed: true, degraded: true, source: 'fallback' });
    expect(await limiter.refund(taken)).toBe(3);
    expect(await limiter.peek('api', 'key')).toMatchObject({ remaining: 3 });
    expect(limiter.stats()).toMatchObject({ unreturned: 0 });
  });
});
