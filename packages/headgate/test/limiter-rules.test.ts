import { describe, expect, it } from 'vitest';
import { createLimiter, slidingLog, tokenBucket, unlimited, type Limit } from '../src/index.js';
import { makeRule } from '../src/rule.js';
import { fakeClock } from '../src/testing/index.js';
import { countingStore } from './support/counting-store.js';
import { passing, perMinute, withClock } from './support/limiters.js';

describe('options of a rule', () => {
  const open = { limit: perMinute(1), plans: { pro: perMinute(2) } };

  it('that are frozen in all their parts are looked at once, however often rules change', () => {
    const frozen = Object.freeze({ ...open, plans: Object.freeze({ ...open.plans }) });
    expect(makeRule('a', frozen)).toBe(makeRule('a', frozen));
    expect(makeRule('b', frozen)).toMatchObject({ name: 'b' });
    const partly = Object.freeze({ ...open });
    expect(makeRule('a', partly)).not.toBe(makeRule('a', partly));
  });

  it('that are not are read again', async () => {
    const options: { limit: Limit } = { limit: perMinute(1) };
    const limiter = createLimiter({ rules: { a: options } });
    options.limit = perMinute(5);
    expect((await limiter.withRules({ a: options }).peek('a', 'key')).limit).toBe(5);
  });
});

describe('a shadow rule', () => {
  it('refuses nothing and says what it would have refused', async () => {
    const { limiter } = withClock({ watched: { limit: perMinute(2), shadow: true } });
    const answers = [];
    for (let i = 0; i < 4; i += 1) answers.push(await limiter.check('watched', 'key'));
    expect(answers.map(({ allowed, wouldAllow, shadow, retryAfterMs }) => ({ allowed, wouldAllow, shadow, retryAfterMs }))).toEqual(
      [true, true, false, false].map((wouldAllow) => ({ allowed: true, wouldAllow, shadow: true, retryAfterMs: 0 })),
    );
    expect(answers[3]).toMatchObject({ reason: 'limited', remaining: 0 });
  });

  it('refuses no group, and a group that another rule refuses takes nothing from it', async () => {
    const { limiter } = withClock({ watched: { limit: perMinute(1), shadow: true }, real: { limit: perMinute(2) } });
    const group = () =>
      limiter.checkAll([
        { rule: 'watched', key: 'key' },
        { rule: 'real', key: 'key' },
      ]);
    expect((await group()).decisions.map(({ wouldAllow }) => wouldAllow)).toEqual([true, true]);
    expect(await group()).toMatchObject({ allowed: true, decisions: [{ allowed: true, wouldAllow: false }, { allowed: true }] });
    await limiter.reset('watched', 'key');
    expect(await group()).toMatchObject({ allowed: false, rule: 'real' });
    expect(await limiter.peek('watched', 'key')).toMatchObject({ remaining: 1 });
  });
});

describe('plans', () => {
  it('choose the numbers, keep the units used of the same kind of limit, and an unlimited one asks no store', async () => {
    const store = countingStore({ clock: fakeClock() });
    const plans = { pro: tokenBucket({ capacity: 200, refill: '20/s' }), enterprise: unlimited() };
    const limiter = createLimiter({
      store,
      deadline: '2s',
      rules: { api: { limit: tokenBucket({ capacity: 20, refill: '2/s' }), plans }, free: { limit: unlimited() } },
    });
    expect(await limiter.check('api', 'key', { cost: 20 })).toMatchObject({ limit: 20, remaining: 0 });
    expect(await limiter.check('api', 'key', { plan: 'pro' })).toMatchObject({ limit: 200, remaining: 179 });
    expect(await limiter.check('api', 'key', { plan: 'unheard of' as 'pro' })).toMatchObject({ allowed: false, limit: 20 });
    store.calls.length = 0;
    const free = await limiter.check('api', 'key', { plan: 'enterprise', cost: 5 });
    const infinite = Number.POSITIVE_INFINITY;
    expect(free).toMatchObject({
      allowed: true,
      limit: infinite,
      remaining: infinite,
      retryAfterMs: 0,
      resetAfterMs: 0,
      reason: 'ok',
      degraded: false,
    });
    expect(await limiter.refund(free)).toBe(0);
    expect(limiter.receipt(free)).toBeUndefined();
    expect(await limiter.peek('free', 'key')).toMatchObject({ allowed: true });
    expect(
      await limiter.checkAll([
        { rule: 'free', key: 'key' },
        { rule: 'api', key: 'key', plan: 'enterprise' },
      ]),
    ).toMatchObject({ allowed: true, remaining: infinite });
    expect(await limiter.acquire('free', 'key', { maxWait: '1s' })).toMatchObject({ allowed: true });
    expect(store.calls).toEqual([]);
    await limiter.close();
  });

  it('of other kinds have budgets of their own, and a ban or a reset reaches all of them', async () => {
    const { limiter } = withClock({
      api: { limit: perMinute(3), plans: { pro: tokenBucket({ capacity: 9, refill: '1/m' }), all: unlimited() } },
    });
    await limiter.check('api', 'key', { cost: 3 });
    expect(await limiter.check('api', 'key', { plan: 'pro' })).toMatchObject({ remaining: 8 });
    await limiter.ban('api', 'key', '10s');
    for (const plan of ['pro', 'none'])
      expect(await limiter.check('api', 'key', { plan })).toMatchObject({ allowed: false, reason: 'banned' });
    await limiter.unban('api', 'key');
    await limiter.reset('api', 'key');
    expect(await limiter.peek('api', 'key')).toMatchObject({ remaining: 3 });
    expect(await limiter.peek('api', 'key', { plan: 'pro' })).toMatchObject({ remaining: 9 });
  });
});

describe('countRefused', () => {
  it('lets refused requests take units too: who keeps asking stays refused', async () => {
    const { limiter, seconds } = withClock({
      stern: { limit: tokenBucket({ capacity: 2, refill: '1/s' }), countRefused: true },
      mild: { limit: tokenBucket({ capacity: 2, refill: '1/s' }) },
      log: { limit: slidingLog({ limit: 2, window: '10s' }), countRefused: true },
    });
    for (const [rule, passed] of [
      ['stern', 3],
      ['mild', 9],
      ['log', 2],
    ] as const) {
      let allowed = 0;
      for (let i = 0; i < 15; i += 1) {
        if ((await limiter.check(rule, 'key')).allowed) allowed += 1;
        await seconds(0.5);
      }
      expect(allowed, rule).toBe(passed);
    }
    await seconds(10);
    for (const rule of ['stern', 'log'] as const) expect(await limiter.check(rule, 'key')).toMatchObject({ allowed: true });
  });

  it('also where another rule of the group refuses', async () => {
    const { limiter } = withClock({
      counting: { limit: perMinute(5), countRefused: true },
      closed: { limit: perMinute(0) },
      plain: { limit: perMinute(5) },
    });
    const group = [
      { rule: 'counting', key: 'key' },
      { rule: 'closed', key: 'key' },
      { rule: 'plain', key: 'key' },
    ] as const;
    for (let i = 0; i < 3; i += 1) expect(await limiter.checkAll(group)).toMatchObject({ allowed: false, rule: 'closed' });
    expect(await limiter.peek('counting', 'key')).toMatchObject({ remaining: 2 });
    expect(await limiter.peek('plain', 'key')).toMatchObject({ remaining: 5 });
  });
});

describe('withRules', () => {
  it('has other numbers over the same counters, and closing either closes both', async () => {
    const { limiter } = withClock({ api: { limit: perMinute(10) } });
    expect(await passing(50, () => limiter.check('api', 'key'))).toBe(10);
    const raised = limiter.withRules({ api: { limit: perMinute(20) }, more: { limit: perMinute(1) } });
    expect(await passing(50, () => raised.check('api', 'key'))).toBe(10);
    expect(raised.stats().checks).toBe(100);
    expect(await raised.check('more', 'key')).toMatchObject({ allowed: true });
    await raised.close();
    await limiter.close();
    await expect(limiter.check('api', 'key')).rejects.toMatchObject({ code: 'HEADGATE_CLOSED' });
  });

  it('a receipt of before is settled under the rules of now', async () => {
    const { limiter } = withClock({ api: { limit: perMinute(10) } });
    const reserved = await limiter.reserve('api', 'key', { cost: 4 });
    const raised = limiter.withRules({ api: { limit: perMinute(20) } });
    expect(await raised.settle(reserved.decision, 1)).toEqual({ returned: 3, charged: 0 });
    expect(await reserved.settle(1)).toEqual({ returned: 0, charged: 0 });
    expect(await raised.peek('api', 'key')).toMatchObject({ remaining: 19 });
  });
});
