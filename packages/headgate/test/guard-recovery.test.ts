import { describe, expect, it } from 'vitest';
import { concurrency, fixedWindow, tokenBucket } from '../src/index.js';
import { kinds, other, over, perDay } from './support/guarding.js';
import { passing, turn } from './support/limiters.js';

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
