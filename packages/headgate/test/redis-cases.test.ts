import { describe, expect, it } from 'vitest';
import { monitor } from '../../../test/support/monitor.js';
import { createLimiter, fixedWindow, memoryStore, StoreError, tokenBucket } from '../src/index.js';
import type { Limiter, Store } from '../src/index.js';
import { redisStore } from '../src/redis.js';
import { windowAwayFromEdge } from './support/away-from-edges.js';
import { everyLimit, limitersInRedis, rulesOf } from './support/limiters-in-redis.js';
import { fiveOfEachKind, startWorker, type Worker, type WorkerRules } from './support/workers.js';

const redis = limitersInRedis();

async function worker(rules: WorkerRules, skewMs = 0): Promise<Worker> {
  const started = await startWorker(redis.server.url, rules, skewMs);
  redis.open.push(() => started.stop());
  return started;
}
const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
const passed = (decisions: readonly { allowed: boolean }[]): number => decisions.filter(({ allowed }) => allowed).length;
const parallel = <T>(times: number, ask: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: times }, (_, i) => ask(i)));

describe('over many servers', () => {
  it('a code is sent 3 times in 600 s to one phone number, asked 50 times at once', async () => {
    const rules = rulesOf(everyLimit(3, 600_000));
    const [a, b] = [redis.limiterOf(rules), redis.limiterOf(rules)];
    for (const rule of Object.keys(rules)) {
      const decisions = await parallel(50, (i) => (i % 2 === 0 ? a : b).check(rule, '+41790000000'));
      expect(passed(decisions), rule).toBe(3);
    }
    expect([a.stats().degraded, b.stats().degraded]).toEqual([0, 0]);
  });

  it('of 1,000 checks at once from 4 processes exactly 5 pass, of every kind of limit', async () => {
    const rules = fiveOfEachKind();
    const workers = await parallel(4, () => worker(rules));
    for (const rule of Object.keys(rules)) {
      const answers = await Promise.all(workers.map(({ check }) => check({ rule, key: 'key', times: 250 })));
      expect(sum(answers.map((answer) => answer.passed)), rule).toBe(5);
      expect(sum(answers.map((answer) => answer.degraded)), rule).toBe(0);
    }
  });

  it('300 a minute pass however they are spread, also while servers join', async () => {
    const rules: WorkerRules = { api: ['fixedWindow', { limit: 300, window: windowAwayFromEdge(60_000, 40_000) }] };
    const ask = ({ check }: Worker, times: number) => check({ rule: 'api', key: 'client', times, parallel: false });
    const first = await parallel(3, () => worker(rules));
    // Two of the three are asked much more than the third; meanwhile two more come.
    const underWay = first.map((one, index) => ask(one, [200, 60, 10][index] ?? 0));
    const joined = await parallel(2, () => worker(rules));
    const later = [...first, ...joined].map((one) => ask(one, 100));
    const answers = await Promise.all([...underWay, ...later]);
    expect(sum(answers.map((answer) => answer.passed))).toBe(300);
    expect(sum(answers.map((answer) => answer.degraded))).toBe(0);
  });

  it('a counter in each of 10 servers lets 1,200 through, the shared store 120', async () => {
    const rules = { api: { limit: fixedWindow({ limit: 120, window: windowAwayFromEdge(60_000) }) } };
    const ask = async (limiters: Limiter<'api'>[]): Promise<number> =>
      passed(await parallel(3000, (i) => limiters[i % 10]?.check('api', 'client') ?? Promise.reject(new Error('none'))));
    const apart = Array.from({ length: 10 }, () => createLimiter({ store: memoryStore(), rules }));
    expect(await ask(apart)).toBe(1200);
    const together = Array.from({ length: 10 }, () => redis.limiterOf(rules));
    expect(await ask(together)).toBe(120);
  });

  it('split limits refuse 18 of 30 requests of a client that sticks to one server, the shared store none', async () => {
    const window = windowAwayFromEdge(60_000);
    const split = createLimiter({ store: memoryStore(), rules: { api: { limit: fixedWindow({ limit: 120 / 10, window }) } } });
    const shared = redis.limiterOf({ api: { limit: fixedWindow({ limit: 120, window }) } });
    expect(30 - passed(await parallel(30, () => split.check('api', 'client')))).toBe(18);
    expect(30 - passed(await parallel(30, () => shared.check('api', 'client')))).toBe(0);
  });

  it('two whose clocks differ by 120 s, or by 40 days, share one budget, and nobody stalls', async () => {
    const rules: WorkerRules = {
      bucket: ['tokenBucket', { capacity: 1, refill: '1/10s' }],
      window: ['fixedWindow', { limit: 1, window: windowAwayFromEdge(10_000, 6000) }],
      fromFirst: ['fixedWindow', { limit: 1, window: '10s', from: 'first-request' }],
      log: ['slidingLog', { limit: 1, window: '10s' }],
      quota: ['quota', { limit: 1, period: 'year' }],
      hourly: ['quota', { limit: 1, period: 'hour' }],
      holders: ['concurrency', { limit: 1, expires: '10s' }],
      failures: ['consecutiveFailures', { free: 0, firstWait: '10s' }],
    };
    const day = 86_400_000;
    const workers = await Promise.all([0, 120_000, -120_000, 40 * day, -400 * day].map((skewMs) => worker(rules, skewMs)));
    for (const rule of Object.keys(rules)) {
      const answers = await Promise.all(workers.map(({ check }) => check({ rule, key: 'key', times: 2 })));
      expect(sum(answers.map((answer) => answer.passed)), rule).toBe(1);
      expect(sum(answers.map((answer) => answer.degraded)), rule).toBe(0);
      if (rule === 'quota' || rule === 'hourly') continue;
      for (const waitMs of answers.flatMap(({ waitsMs }) => waitsMs)) {
        expect(waitMs, rule).toBeGreaterThan(0);
        expect(waitMs, rule).toBeLessThan(12_000);
      }
    }
  });
});

describe('one batch', () => {
  it('of 64 checks of one key with a capacity of 20 lets 20 pass, in one script call', async () => {
    const limiter = redis.limiterOf({ api: { limit: tokenBucket({ capacity: 20, refill: '1/h' }) } });
    await limiter.ready();
    const watch = await monitor(redis.server.port);
    redis.open.push(async () => watch.stop());
    expect(passed(await parallel(64, () => limiter.check('api', 'key')))).toBe(20);
    // The first call may find no script yet.
    expect(await watch.count('EVALSHA')).toBe(1);
  });

  it('under load goes in two script calls, so that the next is on its way while one is read', async () => {
    const limiter = redis.limiterOf({ api: { limit: tokenBucket({ capacity: 1000, refill: '1/h' }) } });
    await limiter.ready();
    const watch = await monitor(redis.server.port);
    redis.open.push(async () => watch.stop());
    const rounds = 100;
    await parallel(64, async (i) => {
      for (let round = 0; round < rounds; round += 1) await limiter.check('api', `key${i}`);
    });
    const calls = await watch.count('EVALSHA');
    // One call a round if all waited for each other, and never more than two.
    expect(calls).toBeGreaterThan(1.2 * rounds);
    expect(calls).toBeLessThanOrEqual(2 * rounds + 1);
  });

  it('answers for banned keys too, whatever they have left, in one script call', async () => {
    const limiter = redis.limiterOf({ api: { limit: tokenBucket({ capacity: 20, refill: '1/h' }) } });
    await limiter.check('api', 'used');
    for (const key of ['used', 'new']) await limiter.ban('api', key, '1m');
    const watch = await monitor(redis.server.port);
    redis.open.push(async () => watch.stop());
    const banned = { allowed: false, reason: 'banned', remaining: 0 };
    expect(await limiter.check('api', 'used')).toMatchObject(banned);
    expect(await limiter.check('api', 'new')).toMatchObject(banned);
    expect(await Promise.all(['used', 'other', 'new'].map((key) => limiter.check('api', key)))).toMatchObject([
      banned,
      { allowed: true, remaining: 19 },
      banned,
    ]);
    const waits = await Promise.all(['used', 'new'].map((key) => limiter.check('api', key)));
    for (const { retryAfterMs } of waits) expect(retryAfterMs).toBeGreaterThan(50_000);
    for (const { retryAfterMs } of waits) expect(retryAfterMs).toBeLessThanOrEqual(60_000);
    // The first of each kind may find no script yet.
    expect(await watch.count('EVALSHA')).toBe(4);
    await limiter.unban('api', 'used');
    expect(await limiter.check('api', 'used')).toMatchObject({ allowed: true, remaining: 18 });
  });

  it('with a key of a foreign type fails for that key alone: it is decided without the store, the other 31 in it', async () => {
    const limit = tokenBucket({ capacity: 5, refill: '1/h' });
    const limiter = redis.limiterOf({
      api: { limit },
      strict: { limit, whenUnavailable: 'refuse' },
      lenient: { limit, whenUnavailable: 'allow' },
    });
    await redis.client.lpush('hg:2{key7}b:api', 'not a counter');
    await redis.client.set('hg:2{key8}b:strict', 'not a counter either', 'EX', 100);
    await redis.client.hset('hg:2{key9}b:lenient', 'field', 'value');
    for (const [rule, key] of [
      ['api', 'key7'],
      ['strict', 'key8'],
      ['lenient', 'key9'],
    ] as const) {
      const decisions = await parallel(32, (i) => limiter.check(rule, `key${i}`, { cost: 2 }));
      for (const decision of decisions) {
        if (decision.key !== key) expect(decision).toMatchObject({ allowed: true, remaining: 3, source: 'store', degraded: false });
        else if (rule === 'api') expect(decision).toMatchObject({ allowed: true, remaining: 3, source: 'fallback', degraded: true });
        else expect(decision).toMatchObject({ allowed: rule === 'lenient', reason: 'store-unavailable', degraded: true });
      }
    }
    expect(limiter.stats().degraded).toBe(3);
    await expect(limiter.ban('api', 'key7', '1m')).rejects.toMatchObject({ code: 'HEADGATE_FOREIGN_VALUE' });
    expect(await redis.client.lrange('hg:2{key7}b:api', 0, -1)).toEqual(['not a counter']);
    await redis.client.del('hg:2{key7}b:api', 'hg:2{key9}b:lenient');
  });

  it('at the store rejects that group alone, with a code, and the groups beside it are right', async () => {
    const store: Store = redisStore({ client: redis.client });
    redis.open.push(() => store.close());
    const limit = fixedWindow({ limit: 5, window: windowAwayFromEdge(60_000) });
    await redis.client.lpush('hg:2{key7}w:api', 'not a counter');
    const check = (key: string) => ({ rule: 'api', key, limit, cost: 1 });
    const settled = await Promise.allSettled([
      ...Array.from({ length: 32 }, (_, i) => store.decide({ checks: [check(`key${i}`)] })),
      store.decide({ checks: [check('both'), check('key7')] }),
      store.decide({ checks: [check('both')] }),
    ]);
    settled.forEach((result, i) => {
      const foreign = i === 7 || i === 32;
      expect(result.status, String(i)).toBe(foreign ? 'rejected' : 'fulfilled');
      if (result.status === 'rejected') {
        expect(result.reason).toBeInstanceOf(StoreError);
        expect(result.reason).toMatchObject({ code: 'HEADGATE_FOREIGN_VALUE', message: expect.stringContaining('"api"') as string });
      } else expect(result.value.outcomes[0]).toMatchObject({ allowed: true, taken: 1, remaining: 4 });
    });
    await redis.client.del('hg:2{key7}w:api');
  });
});
