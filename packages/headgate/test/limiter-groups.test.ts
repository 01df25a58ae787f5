import { describe, expect, it } from 'vitest';
import { quota, tokenBucket } from '../src/index.js';
import { passing, perMinute, withClock } from './support/limiters.js';

describe('checkAll', () => {
  it('is bound by the longest wait of those that refuse', async () => {
    const { limiter } = withClock({
      short: { limit: tokenBucket({ capacity: 1, refill: '1/s' }) },
      long: { limit: perMinute(1) },
      open: { limit: perMinute(9) },
    });
    const ask = (...rules: ('short' | 'long' | 'open')[]) => limiter.checkAll(rules.map((rule) => ({ rule, key: 'key' })));
    await ask('short', 'long');
    const refused = await ask('short', 'open', 'long');
    expect(refused).toMatchObject({ allowed: false, rule: 'long', retryAfterMs: 60_000 });
    expect(refused.decisions.map(({ rule, allowed }) => [rule, allowed])).toEqual([
      ['short', false],
      ['open', true],
      ['long', false],
    ]);
    expect(await ask('long', 'short')).toMatchObject({ rule: 'long' });
    expect(await limiter.peek('open', 'key')).toMatchObject({ remaining: 9 });
    expect(await limiter.refund(refused)).toBe(0);
  });

  it('that passes is bound by the fewest remaining', async () => {
    const { limiter } = withClock({ ten: { limit: perMinute(10) }, three: { limit: perMinute(3) }, five: { limit: perMinute(5) } });
    const group = await limiter.checkAll([
      { rule: 'ten', key: 'key' },
      { rule: 'three', key: 'key' },
      { rule: 'five', key: 'key', cost: 4 },
    ]);
    expect(group).toMatchObject({ allowed: true, rule: 'five', remaining: 1 });
    expect(group.decisions.map(({ remaining }) => remaining)).toEqual([9, 2, 1]);
  });

  it('a refused group takes nothing: 1/min and 100/min, asked ten times', async () => {
    const { limiter } = withClock({ one: { limit: perMinute(1) }, hundred: { limit: perMinute(100) } });
    const group = () =>
      limiter.checkAll([
        { rule: 'one', key: 'key' },
        { rule: 'hundred', key: 'key' },
      ]);
    expect(await passing(10, group)).toBe(1);
    expect(await limiter.peek('hundred', 'key')).toMatchObject({ remaining: 99 });
  });

  it('that names one key twice needs room for both', async () => {
    const { limiter } = withClock({ one: { limit: perMinute(1) }, two: { limit: perMinute(2) } });
    for (const [rule, allowed] of [
      ['one', false],
      ['two', true],
    ] as const) {
      expect(
        await limiter.checkAll([
          { rule, key: 'key' },
          { rule, key: 'key' },
        ]),
      ).toMatchObject({ allowed });
    }
  });

  it('of a rate and a month’s quota uses the quota up at full speed, and says when the month ends (case 3)', async () => {
    const { limiter, clock } = withClock({
      rate: { limit: tokenBucket({ capacity: 20, refill: '20/s' }) },
      monthly: { limit: quota({ limit: 1_000_000, period: 'month' }) },
    });
    const ask = () =>
      limiter.checkAll([
        { rule: 'rate', key: 'key', cost: 20 },
        { rule: 'monthly', key: 'key', cost: 20 },
      ]);
    let seconds = 0;
    for (; (await ask()).allowed; seconds += 1) clock.advance(1_000_000);
    expect(seconds).toBe(50_000);
    const refused = await ask();
    expect(refused).toMatchObject({ allowed: false, rule: 'monthly', remaining: 0, reason: 'limited' });
    const month = 31 * 86_400;
    expect(refused.retryAfterMs).toBe((month - seconds) * 1000);
    clock.advance((month - seconds) * 1_000_000);
    expect((await ask()).allowed).toBe(true);
  });
});
