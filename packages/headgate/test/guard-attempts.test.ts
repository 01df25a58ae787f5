import { describe, expect, it } from 'vitest';
import { consecutiveFailures } from '../src/index.js';
import type { Check, Decision } from '../src/index.js';
import { other, over } from './support/guarding.js';
import { passing } from './support/limiters.js';

const login = consecutiveFailures({ limit: 10, free: 2, firstWait: '30s', longestWait: '1h' });
const rules = { login: { limit: login }, ...other };
const of = (key: string): Check => ({ rule: 'login', key, limit: login, cost: 1 });

/** How many failures the shared store counts. */
const counted = async (shared: ReturnType<typeof over>['faulty']['shared'], key = 'ada') =>
  (await shared.decide({ checks: [of(key)], dry: true })).outcomes[0]?.failures;

describe('attempts to log in without the store', () => {
  it('a process that has never heard of the key lets its part of the free ones begin, one at least, and then keeps the waits', async () => {
    for (const [fleetSize, at] of [
      [1, 3],
      [3, 1],
      [8, 1],
    ] as const) {
      const { limiter, faulty, seconds } = over(rules, { fleetSize });
      faulty.goes('fail');
      expect(await passing(50, () => limiter.check('login', 'ada'))).toBe(at);
      for (const wait of [30, 60, 120]) {
        expect(await limiter.check('login', 'ada')).toMatchObject({ allowed: false, degraded: true, retryAfterMs: wait * 1000 });
        seconds(wait);
        expect(await passing(50, () => limiter.check('login', 'ada'))).toBe(1);
      }
    }
  });

  it.each([1, 4])('it begins from the failures and the wait that the store told last (%i processes)', async (fleetSize) => {
    const { limiter, faulty, seconds } = over(rules, { fleetSize });
    expect(await passing(3, () => limiter.check('login', 'ada'))).toBe(3);
    seconds(30);
    await limiter.check('login', 'ada');
    seconds(50);
    faulty.goes('fail');
    expect(await limiter.check('login', 'ada')).toMatchObject({ allowed: false, degraded: true, retryAfterMs: 10_000 });
    seconds(10);
    expect(await passing(9, () => limiter.check('login', 'ada'))).toBe(1);
    expect(await limiter.check('login', 'ada')).toMatchObject({ allowed: false, retryAfterMs: 120_000 });
  });

  it('a key that the store has closed stays closed', async () => {
    const { limiter, faulty, seconds } = over(rules, { fleetSize: 4 });
    await faulty.shared.decide({ checks: [{ ...of('ada'), cost: 10, least: 0 }] });
    expect(await limiter.check('login', 'ada')).toMatchObject({ allowed: false, reason: 'limited', degraded: false });
    faulty.goes('fail');
    for (let day = 0; day < 30; day += 1) {
      seconds(86_400);
      expect(await limiter.check('login', 'ada')).toMatchObject({ allowed: false, degraded: true, reason: 'limited' });
    }
  });

  it('what failed is charged once the store is back, and what was aborted is not', async () => {
    const { limiter, faulty, recovered } = over(rules);
    await limiter.check('login', 'ada');
    faulty.goes('fail');
    await limiter.outcome(await limiter.check('login', 'ada'), 'failure');
    expect(await limiter.refund(await limiter.check('login', 'ada'))).toBe(1);
    faulty.goes('answer');
    await recovered();
    expect(await counted(faulty.shared)).toBe(2);
  });

  it('a success forgets what failed in the outage, and before it once the store is there again', async () => {
    const { limiter, faulty, recovered } = over(rules);
    await passing(2, () => limiter.check('login', 'ada'));
    faulty.goes('fail');
    const attempt = await limiter.check('login', 'ada');
    expect(attempt).toMatchObject({ allowed: true, degraded: true, remaining: 0 });
    faulty.goes('answer');
    expect(await limiter.outcome(attempt, 'success')).toBe(true);
    await recovered();
    await expect.poll(() => counted(faulty.shared)).toBe(0);
    expect(await limiter.check('login', 'ada')).toMatchObject({ allowed: true, remaining: 2, degraded: false });
  });

  it('a success of before the outage forgets what this process knew, and one that the store is not told of forgets nothing', async () => {
    const { limiter, faulty, recovered } = over(rules);
    await limiter.check('login', 'ada', { cost: 2 });
    const attempt = await limiter.check('login', 'ada');
    expect(await limiter.outcome(attempt, 'success')).toBe(true);
    faulty.goes('fail');
    expect(await passing(9, () => limiter.check('login', 'ada'))).toBe(3);
    faulty.goes('answer');
    await recovered();
    const other = await limiter.check('login', 'bob', { cost: 3 });
    faulty.goes('fail');
    faulty.store.giveBack = () => Promise.reject(new Error('away'));
    expect(await limiter.outcome(other, 'success')).toBe(false);
    expect(limiter.stats()).toMatchObject({ unreturned: 1 });
    expect(await limiter.check('login', 'bob')).toMatchObject({ allowed: false, degraded: true });
  });

  it('several outages one after another let no more begin than one', async () => {
    const { limiter, faulty, recovered } = over(rules);
    let begun = 0;
    for (let outage = 0; outage < 5; outage += 1) {
      faulty.goes('fail');
      begun += await passing(5, () => limiter.check('login', 'ada'));
      faulty.goes('answer');
      await recovered();
    }
    expect(begun).toBe(3);
  });

  it('a rule that refuses lets none begin, and one that allows all, of which it is not known whether they failed', async () => {
    const { limiter, faulty, recovered } = over({
      strict: { limit: login, whenUnavailable: 'refuse' },
      login: { limit: login, whenUnavailable: 'allow' },
      ...other,
    });
    faulty.goes('fail');
    expect(await limiter.check('strict', 'ada')).toMatchObject({ allowed: false, reason: 'store-unavailable' });
    const attempts: Decision[] = [];
    for (let i = 0; i < 20; i += 1) attempts.push(await limiter.check('login', 'ada'));
    expect(attempts.every(({ allowed }) => allowed)).toBe(true);
    expect(await Promise.all(attempts.map((attempt) => limiter.outcome(attempt, 'failure')))).not.toContain(true);
    const group = await limiter.checkAll([
      { rule: 'login', key: 'ada' },
      { rule: 'other', key: 'ip' },
    ]);
    expect([group.allowed, await limiter.outcome(group, 'success')]).toEqual([true, false]);
    faulty.goes('answer');
    await recovered();
    expect(await counted(faulty.shared)).toBe(0);
  });

  it('a reset leaves nothing of what was known before it', async () => {
    const { limiter, faulty } = over(rules);
    await passing(3, () => limiter.check('login', 'ada'));
    await limiter.reset('login', 'ada');
    faulty.goes('fail');
    expect(await passing(9, () => limiter.check('login', 'ada'))).toBe(3);
  });
});
