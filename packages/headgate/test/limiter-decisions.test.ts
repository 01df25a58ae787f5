import { describe, expect, it } from 'vitest';
import { slidingLog, tokenBucket } from '../src/index.js';
import { perMinute, withClock } from './support/limiters.js';

describe('a decision', () => {
  it('says what was asked, what is left, and when it was decided, and is plain data', async () => {
    const { limiter, clock } = withClock({ search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) } });
    const first = await limiter.check('search', 'key42', { cost: 3 });
    const fields = {
      allowed: true,
      rule: 'search',
      key: 'key42',
      cost: 3,
      limit: 20,
      remaining: 17,
      retryAfterMs: 0,
      resetAfterMs: 1500,
      reason: 'ok',
      source: 'store',
      degraded: false,
      shadow: false,
      wouldAllow: true,
      decidedAt: clock.nowUs(),
    };
    expect({ ...first }).toEqual(fields);
    expect(JSON.parse(JSON.stringify(first))).toEqual(fields);
    await limiter.check('search', 'key42', { cost: 17 });
    expect(await limiter.check('search', 'key42')).toMatchObject({
      allowed: false,
      wouldAllow: false,
      remaining: 0,
      retryAfterMs: 500,
      resetAfterMs: 10_000,
      reason: 'limited',
    });
    const never = await limiter.check('search', 'key42', { cost: 21 });
    expect(never).toMatchObject({ allowed: false, reason: 'cost-above-limit', retryAfterMs: Number.POSITIVE_INFINITY });
    expect(JSON.parse(JSON.stringify(never))).toMatchObject({ retryAfterMs: null });
  });

  it('rounds times up, so that a retry after them passes if nobody else took', async () => {
    const { limiter, clock } = withClock({ third: { limit: tokenBucket({ capacity: 1, refill: '3/s' }) } });
    await limiter.check('third', 'key');
    clock.advance(1);
    const { retryAfterMs } = await limiter.check('third', 'key');
    expect(retryAfterMs).toBe(334);
    clock.advance(retryAfterMs * 1000);
    expect(await limiter.check('third', 'key')).toMatchObject({ allowed: true });
  });

  it('of a limit of 0 is always a refusal that no wait changes', async () => {
    const { limiter } = withClock({ none: { limit: perMinute(0) }, dry: { limit: tokenBucket({ capacity: 0, refill: '1/s' }) } });
    for (const rule of ['none', 'dry'] as const) {
      expect(await limiter.check(rule, 'key')).toMatchObject({
        allowed: false,
        limit: 0,
        retryAfterMs: Number.POSITIVE_INFINITY,
        reason: 'cost-above-limit',
      });
    }
  });
});

describe('peek', () => {
  it('100 times changes nothing, and says what a check would say', async () => {
    const { limiter } = withClock({
      bucket: { limit: tokenBucket({ capacity: 5, refill: '1/m' }) },
      log: { limit: slidingLog({ limit: 5, window: '1m' }) },
    });
    for (const rule of ['bucket', 'log'] as const) {
      await limiter.check(rule, 'key', { cost: 3 });
      for (let i = 0; i < 100; i += 1) expect(await limiter.peek(rule, 'key')).toMatchObject({ allowed: true, remaining: 2 });
      expect(await limiter.peek(rule, 'key', { cost: 3 })).toMatchObject({ allowed: false });
      const peeked = await limiter.peek(rule, 'key');
      expect(await limiter.refund(peeked)).toBe(0);
      expect(await limiter.check(rule, 'key', { cost: 2 })).toMatchObject({ allowed: true, remaining: 0 });
    }
  });
});
