import { describe, expect, it } from 'vitest';
import { tokenBucket } from '../src/index.js';
import { passing, perMinute, withClock } from './support/limiters.js';

describe('ban, unban and reset', () => {
  it('a banned key is refused until the ban ends, whatever it has left, and only that key', async () => {
    const { limiter, seconds } = withClock({
      search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) },
      other: { limit: perMinute(5) },
    });
    await limiter.ban('search', 'key', '10m');
    expect(await limiter.check('search', 'key')).toMatchObject({
      allowed: false,
      reason: 'banned',
      remaining: 0,
      retryAfterMs: 600_000,
      resetAfterMs: 600_000,
    });
    await limiter.reset('search', 'key');
    expect(await limiter.check('search', 'key')).toMatchObject({ allowed: false, reason: 'banned' });
    expect(await limiter.check('search', 'key2')).toMatchObject({ allowed: true });
    expect(await limiter.check('other', 'key')).toMatchObject({ allowed: true });
    expect(
      await limiter.checkAll([
        { rule: 'search', key: 'key' },
        { rule: 'other', key: 'key' },
      ]),
    ).toMatchObject({ allowed: false, rule: 'search' });
    expect(await limiter.peek('other', 'key')).toMatchObject({ remaining: 4 });
    await seconds(600);
    expect(await limiter.check('search', 'key')).toMatchObject({ allowed: true, remaining: 19 });
    await limiter.ban('search', 'key', '1d');
    await limiter.unban('search', 'key');
    expect(await limiter.check('search', 'key')).toMatchObject({ allowed: true, remaining: 18 });
  });

  it('a reset gives the full budget again', async () => {
    const { limiter } = withClock({ login: { limit: perMinute(5) } });
    expect(await passing(7, () => limiter.check('login', 'key'))).toBe(5);
    await limiter.reset('login', 'key');
    expect(await passing(7, () => limiter.check('login', 'key'))).toBe(5);
  });
});
