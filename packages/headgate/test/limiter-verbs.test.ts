import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startRedis, type RedisServer } from '../../../test/support/redis.js';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  memoryStore,
  quota,
  slidingLog,
  slidingWindow,
  StoreError,
  tokenBucket,
  unlimited,
} from '../src/index.js';
import type { Decision, PortableReceipt, RuleOptions, Store } from '../src/index.js';
import { redisStore } from '../src/stores/redis/index.js';
import { fakeClock } from '../src/testing/index.js';
import { countingStore } from './support/counting-store.js';

const second = 1_000_000;
const perMinute = (limit: number) => fixedWindow({ limit, window: '1m' });
const perHour = (limit: number) => fixedWindow({ limit, window: '1h', from: 'first-request' });

/** A limiter in memory whose time stands until it is told. */
function withClock<const Name extends string>(rules: Record<Name, RuleOptions>) {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const seconds = async (n: number): Promise<void> => {
    await turn();
    clock.advance(n * second);
    await turn();
  };
  return { limiter: createLimiter<Name>({ store, clock, rules }), store, clock, seconds };
}

/** Whatever is ready to go on has gone on. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Whether a promise has settled, without waiting for it. */
function watch<T>(promise: Promise<T>): { done: boolean; promise: Promise<T> } {
  const watched = { done: false, promise };
  const settle = (): void => void (watched.done = true);
  promise.then(settle, settle);
  return watched;
}

async function passing(times: number, check: () => Promise<Decision>): Promise<number> {
  let passed = 0;
  for (let i = 0; i < times; i += 1) if ((await check()).allowed) passed += 1;
  return passed;
}

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
    expect(await limiter.check('api', 'key', { plan: 'unheard of' })).toMatchObject({ allowed: false, limit: 20 });
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
});

describe('acquire on a bucket', () => {
  const rules = { turns: { limit: tokenBucket({ capacity: 1, refill: '1/s' }) } };
  const acquire = (limiter: ReturnType<typeof withClock<'turns'>>['limiter'], more?: { signal?: AbortSignal; maxWait?: '500ms' | '10s' }) =>
    watch(limiter.acquire('turns', 'key', { maxWait: '10s', ...more }));

  it('gives turns in the order asked, each as soon as it comes', async () => {
    const { limiter, seconds } = withClock(rules);
    const turns = [1, 2, 3, 4].map(() => acquire(limiter));
    await seconds(0.999);
    expect(turns.map(({ done }) => done)).toEqual([true, false, false, false]);
    await seconds(0.001);
    expect(turns.map(({ done }) => done)).toEqual([true, true, false, false]);
    await seconds(1);
    expect(turns.map(({ done }) => done)).toEqual([true, true, true, false]);
    await seconds(1);
    expect((await Promise.all(turns.map(({ promise }) => promise))).map(({ allowed, retryAfterMs }) => [allowed, retryAfterMs])).toEqual(
      turns.map(() => [true, 0]),
    );
    expect(await limiter.check('turns', 'key')).toMatchObject({ allowed: false, retryAfterMs: 1000 });
  });

  it('over two limiters of one store the turns follow each other', async () => {
    const { limiter, store, clock, seconds } = withClock(rules);
    const other = createLimiter({ store, clock, rules });
    const turns = [limiter, other, limiter, other].map((which) => acquire(which));
    for (let passed = 1; passed <= 4; passed += 1) {
      await turn();
      expect(turns.filter(({ done }) => done)).toHaveLength(passed);
      await seconds(1);
    }
  });

  it('refuses at once if the turn comes later than it would wait, and takes nothing', async () => {
    const { limiter, seconds } = withClock(rules);
    await limiter.check('turns', 'key');
    const late = acquire(limiter, { maxWait: '500ms' });
    await turn();
    expect(late.done).toBe(true);
    expect(await late.promise).toMatchObject({ allowed: false, reason: 'limited', retryAfterMs: 1000 });
    await seconds(1);
    expect(await limiter.check('turns', 'key')).toMatchObject({ allowed: true });
    expect(await limiter.acquire('turns', 'key', { maxWait: '10s', cost: 2 })).toMatchObject({
      allowed: false,
      reason: 'cost-above-limit',
    });
  });

  it('an abort rejects with its reason and gives the turn back', async () => {
    const { limiter, seconds } = withClock(rules);
    await limiter.check('turns', 'key');
    const stop = new AbortController();
    const aborted = acquire(limiter, { signal: stop.signal });
    await turn();
    stop.abort(new Error('the client went away'));
    await expect(aborted.promise).rejects.toThrow('the client went away');
    const next = acquire(limiter);
    await seconds(1);
    expect(next.done).toBe(true);
  });

  it('an abort of a turn that others wait behind gives nothing back, so that no two pass at one instant', async () => {
    const { limiter, seconds } = withClock(rules);
    await limiter.check('turns', 'key');
    const stop = new AbortController();
    const aborted = acquire(limiter, { signal: stop.signal });
    await turn();
    const behind = acquire(limiter);
    await turn();
    stop.abort(new Error('the client went away'));
    await expect(aborted.promise).rejects.toThrow('the client went away');
    const next = acquire(limiter);
    await turn();
    await seconds(2);
    expect([behind.done, next.done]).toEqual([true, false]);
    await seconds(1);
    expect(next.done).toBe(true);
  });

  it('aborted before it asked takes nothing', async () => {
    const { limiter } = withClock(rules);
    const reason = new Error('too late');
    await expect(limiter.acquire('turns', 'key', { maxWait: '10s', signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(await limiter.peek('turns', 'key')).toMatchObject({ remaining: 1 });
  });
});

describe('acquire on other limits', () => {
  it('waits for the window to end and asks again', async () => {
    const { limiter, seconds } = withClock({ window: { limit: fixedWindow({ limit: 2, window: '10s' }) } });
    expect(await limiter.acquire('window', 'key', { cost: 2, maxWait: '1s' })).toMatchObject({ allowed: true });
    const waiting = watch(limiter.acquire('window', 'key', { maxWait: '15s' }));
    await seconds(9.999);
    expect(waiting.done).toBe(false);
    await seconds(0.1);
    expect(waiting.done).toBe(true);
    expect(await waiting.promise).toMatchObject({ allowed: true, remaining: 1 });
  });

  it('refuses at once if that is too long, and takes nothing', async () => {
    const { limiter } = withClock({ window: { limit: fixedWindow({ limit: 2, window: '10s' }) } });
    await limiter.check('window', 'key', { cost: 2 });
    expect(await limiter.acquire('window', 'key', { maxWait: '9s' })).toMatchObject({ allowed: false, retryAfterMs: 10_000 });
    expect(await limiter.acquire('window', 'key', { maxWait: '24d', cost: 3 })).toMatchObject({
      allowed: false,
      reason: 'cost-above-limit',
    });
  });

  it('waits for a holder that goes when its time is over, and an abort ends the waiting', async () => {
    const { limiter, seconds } = withClock({ jobs: { limit: concurrency({ limit: 1, expires: '5s' }) } });
    await limiter.check('jobs', 'key');
    const stop = new AbortController();
    const aborted = watch(limiter.acquire('jobs', 'key', { maxWait: '1m', signal: stop.signal }));
    const waiting = watch(limiter.acquire('jobs', 'key', { maxWait: '1m' }));
    await turn();
    stop.abort();
    await expect(aborted.promise).rejects.toMatchObject({ name: 'AbortError' });
    expect(waiting.done).toBe(false);
    await seconds(5.1);
    expect(await waiting.promise).toMatchObject({ allowed: true });
  });
});

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
    expect(limiter.stats()).toEqual({ checks: 3, degraded: 0, unreturned: 4 });
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

let server: RedisServer;
let client: Redis;
beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.port, server.host);
});
afterAll(async () => {
  client.disconnect();
  await server.kill();
});

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const limiter of open.splice(0)) await limiter.close();
  await client.flushdb();
});

/** Two limiters, as two servers have them, over one store. */
const deployments = [
  [
    'in memory',
    () => {
      const store = memoryStore();
      return [store, store];
    },
  ],
  ['in Redis', () => [redisStore({ client }), redisStore({ client })]],
] as const satisfies [string, () => Store[]][];

describe.each(deployments)('two limiters over one store %s', (_name, stores) => {
  function two<const Name extends string>(rules: Record<Name, RuleOptions>) {
    const [a, b] = stores().map((store) => createLimiter<Name>({ store, deadline: '2s', rules }));
    if (a === undefined || b === undefined) throw new Error('no stores');
    open.push(a, b);
    return [a, b] as const;
  }
  const kinds = [
    ['a bucket', tokenBucket({ capacity: 5, refill: '5/d' })],
    ['a window', perHour(5)],
    ['a sliding window', slidingWindow({ limit: 5, window: '365d' })],
    ['a log', slidingLog({ limit: 5, window: '1h' })],
    ['a quota', quota({ limit: 5, period: 'year' })],
  ] as const;

  it.each(kinds)(
    'five reservations of %s are in flight, a sixth is refused, all five cancel, and the next passes on both',
    async (_kind, limit) => {
      const [a, b] = two({ otp: { limit } });
      const reserved = await Promise.all([a, b, a, b, a].map((limiter) => limiter.reserve('otp', 'key')));
      expect(reserved.map(({ allowed }) => allowed)).toEqual([true, true, true, true, true]);
      const sixth = await b.reserve('otp', 'key');
      expect(sixth).toMatchObject({ allowed: false, decision: { reason: 'limited', remaining: 0 } });
      expect(await sixth.cancel()).toEqual({ returned: 0, charged: 0 });
      for (const { returned, charged } of await Promise.all(reserved.map(({ cancel }) => cancel()))) {
        expect(returned).toBeCloseTo(1, 2);
        expect(charged).toBe(0);
      }
      expect((await a.check('otp', 'key')).allowed).toBe(true);
      expect((await b.check('otp', 'key')).allowed).toBe(true);
      expect(await Promise.all(reserved.map(({ cancel }) => cancel()))).toEqual(reserved.map(() => ({ returned: 0, charged: 0 })));
    },
  );

  it.each(kinds)('of %s a reservation of all that is settled for less leaves the rest', async (_kind, limit) => {
    const [a, b] = two({ tokens: { limit } });
    const reserved = await a.reserve('tokens', 'key', { cost: 5 });
    const { returned, charged } = await reserved.settle(2);
    expect([Math.round(returned * 100) / 100, charged]).toEqual([3, 0]);
    expect(await b.peek('tokens', 'key')).toMatchObject({ allowed: true });
    expect(await b.check('tokens', 'key', { cost: 4 })).toMatchObject({ allowed: false });
    // A bucket may return a little less, for what has flowed back by itself.
    expect(await passing(3, () => b.check('tokens', 'key'))).toBeGreaterThanOrEqual(2);
  });

  it('settled for more it charges the difference, into debt; never settled it stays charged', async () => {
    const [a, b] = two({ tokens: { limit: tokenBucket({ capacity: 100, refill: '100/m' }) }, window: { limit: perHour(10) } });
    const large = await a.reserve('tokens', 'key', { cost: 100 });
    expect(await large.settle(250)).toEqual({ returned: 0, charged: 150 });
    const refused = await b.check('tokens', 'key');
    expect(refused).toMatchObject({ allowed: false, remaining: 0 });
    expect(refused.retryAfterMs).toBeGreaterThan(60_000);
    expect(refused.retryAfterMs).toBeLessThanOrEqual(90_600);
    await a.reserve('window', 'key', { cost: 10 });
    expect(await b.check('window', 'key')).toMatchObject({ allowed: false });
    const exact = await a.reserve('window', 'other', { cost: 10 });
    expect(await exact.settle(10)).toEqual({ returned: 0, charged: 0 });
  });

  it('a refund counts once, of a group gives back each part, and of a copy is a TypeError', async () => {
    const [a, b] = two({
      first: { limit: perHour(10) },
      second: { limit: perHour(20) },
      jobs: { limit: concurrency({ limit: 1, expires: '1h' }) },
    });
    const taken = await a.check('first', 'key', { cost: 4 });
    expect(await Promise.all([a.refund(taken), a.refund(taken), b.refund(taken)])).toEqual([4, 0, 0]);
    expect(await b.peek('first', 'key')).toMatchObject({ remaining: 10 });
    const group = await a.checkAll([
      { rule: 'first', key: 'key', cost: 3 },
      { rule: 'second', key: 'key', cost: 5 },
      { rule: 'jobs', key: 'key' },
    ]);
    expect(await a.refund(group)).toBe(9);
    expect(await a.refund(group)).toBe(0);
    expect(await b.peek('second', 'key')).toMatchObject({ remaining: 20 });
    expect(await b.peek('jobs', 'key')).toMatchObject({ remaining: 1 });
    await expect(a.refund({ ...taken })).rejects.toThrow(TypeError);
    await expect(a.refund(JSON.parse(JSON.stringify(taken)) as Decision)).rejects.toMatchObject({ code: 'HEADGATE_BAD_CALL' });
  });

  it('a receipt may travel, and counts once over all of them', async () => {
    const [a, b] = two({ api: { limit: perHour(10), plans: { pro: perHour(100) } } });
    const taken = await a.check('api', 'key', { cost: 4, plan: 'pro' });
    const receipt = a.receipt(taken);
    expect(receipt).toMatchObject({ rule: 'api', key: 'key', taken: 4, plan: 'pro', degraded: false });
    expect(a.receipt(taken)).toEqual(receipt);
    const travelled = JSON.parse(JSON.stringify(receipt)) as PortableReceipt;
    const given = await Promise.all([a.refund(travelled), b.refund(travelled), a.refund(taken)]);
    expect(given.sort()).toEqual([0, 0, 4]);
    expect(await a.peek('api', 'key')).toMatchObject({ remaining: 10 });
    expect(a.receipt(taken)).toBeUndefined();
  });

  it('a receipt that is settled for more charges once over all of them', async () => {
    const [a, b] = two({ api: { limit: perHour(10) } });
    const receipt = a.receipt(await a.check('api', 'key', { cost: 2 }));
    if (receipt === undefined) throw new Error('nothing was taken');
    const settled = await Promise.all([a.settle(receipt, 5), b.settle({ ...receipt }, 5)]);
    expect(settled.map(({ charged }) => charged).sort()).toEqual([0, 3]);
    expect(await b.settle(receipt, 0)).toEqual({ returned: 0, charged: 0 });
    expect(await b.peek('api', 'key')).toMatchObject({ remaining: 5 });
  });

  it('a holder is extended and released by whoever has its receipt', async () => {
    const [a, b] = two({ jobs: { limit: concurrency({ limit: 1, expires: '1h' }) } });
    const held = await a.check('jobs', 'key');
    const receipt = a.receipt(held);
    if (receipt === undefined) throw new Error('nothing was taken');
    expect(await b.check('jobs', 'key')).toMatchObject({ allowed: false });
    expect(await b.extend(receipt)).toBe(true);
    expect(await b.release(receipt)).toBe(true);
    expect([await b.release(receipt), await a.release(held), await a.extend(held)]).toEqual([false, false, false]);
    expect(await b.check('jobs', 'key')).toMatchObject({ allowed: true });
  });

  it('acquire takes turns over both of them', async () => {
    const [a, b] = two({ turns: { limit: tokenBucket({ capacity: 1, refill: '20/s' }) } });
    const order: number[] = [];
    const limiters = [a, b, a, b];
    const began = performance.now();
    for (const [index, limiter] of limiters.entries()) {
      const asked = limiter.acquire('turns', 'key', { maxWait: '10s' });
      void asked.then(({ allowed }) => allowed && order.push(index));
      // The next is asked only after this turn is taken: a peek is decided after it.
      await limiter.peek('turns', 'key');
    }
    await expect.poll(() => order.length, { interval: 2 }).toBe(4);
    expect(order).toEqual([0, 1, 2, 3]);
    expect(performance.now() - began).toBeGreaterThan(145);
    const stop = new AbortController();
    const reason = new Error('gone');
    const aborted = a.acquire('turns', 'aborted', { maxWait: '10s', signal: stop.signal });
    stop.abort(reason);
    await expect(aborted).rejects.toBe(reason);
    expect(await b.check('turns', 'aborted')).toMatchObject({ allowed: true });
  });

  it('ban, unban and reset on one are in force on the other', async () => {
    const [a, b] = two({ api: { limit: perHour(3), plans: { pro: tokenBucket({ capacity: 9, refill: '1/d' }) } } });
    await a.check('api', 'key', { cost: 3 });
    await a.ban('api', 'key', '1h');
    const banned = await b.check('api', 'key', { plan: 'pro' });
    expect(banned).toMatchObject({ allowed: false, reason: 'banned', remaining: 0 });
    expect(banned.retryAfterMs).toBeGreaterThan(3_590_000);
    expect(banned.retryAfterMs).toBeLessThanOrEqual(3_600_000);
    await b.unban('api', 'key');
    expect(await a.check('api', 'key')).toMatchObject({ allowed: false, reason: 'limited' });
    await b.reset('api', 'key');
    expect(await a.check('api', 'key')).toMatchObject({ allowed: true, remaining: 2 });
  });

  it('closed, it rejects every verb, twice closed is closed, and the other goes on unless they share the store', async () => {
    const [a, b] = two({ api: { limit: perHour(3) } });
    await b.ready();
    const taken = await a.check('api', 'key');
    await Promise.all([a.close(), a.close()]);
    await expect(a.check('api', 'key')).rejects.toMatchObject({ code: 'HEADGATE_CLOSED' });
    expect(await a.refund(taken)).toBe(0);
    if (_name === 'in Redis') {
      expect(await b.check('api', 'key')).toMatchObject({ allowed: true, degraded: false });
      expect(await client.ping()).toBe('PONG');
    }
  });
});
