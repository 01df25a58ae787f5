import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { monitor } from '../../../test/support/monitor.js';
import { startRedis, type RedisServer } from '../../../test/support/redis.js';
import {
  concurrency,
  consecutiveFailures,
  createLimiter,
  fixedWindow,
  memoryStore,
  quota,
  slidingLog,
  slidingWindow,
  StoreError,
  tokenBucket,
} from '../src/index.js';
import type { CountedLimit, Duration, Limiter, RuleOptions, Store } from '../src/index.js';
import { redisStore, type RedisStoreOptions } from '../src/stores/redis/index.js';
import { windowAwayFromEdge } from './support/away-from-edges.js';
import { packPair } from './support/states.js';
import { fiveOfEachKind, startWorker, type Worker, type WorkerRules } from './support/workers.js';

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

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
  // Whatever a test did, no key stays for ever.
  const ttls = await Promise.all((await client.keys('*')).map(async (key) => [key, await client.pttl(key)]));
  expect(ttls.filter(([, ttl]) => ttl === -1)).toEqual([]);
  await client.flushdb();
});

/** All keys but those of the heartbeats. */
const stateKeys = async (): Promise<string[]> => (await client.keys('*')).filter((key) => !key.includes('{fleet}f:'));

function limiterOf<const Name extends string>(rules: Record<Name, RuleOptions>, options: Partial<RedisStoreOptions> = {}): Limiter<Name> {
  // Without notes: what is tested here is what Redis says.
  const limiter = createLimiter<Name>({ store: redisStore({ client, ...options }), deadline: '2s', rules, notes: { max: 0 } });
  open.push(() => limiter.close());
  return limiter;
}

async function worker(rules: WorkerRules, skewMs = 0): Promise<Worker> {
  const started = await startWorker(server.url, rules, skewMs);
  open.push(() => started.stop());
  return started;
}

const parallelNames = (count: number): string[] => Array.from({ length: count }, (_, i) => `account-${i}`);
const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
const passed = (decisions: readonly { allowed: boolean }[]): number => decisions.filter(({ allowed }) => allowed).length;
const parallel = <T>(times: number, ask: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: times }, (_, i) => ask(i)));

/** Every kind of limit, `limit` units in about `ms`, none of which flow back while a test runs. */
function everyLimit(limit: number, ms = 3_600_000): Record<string, CountedLimit> {
  const window = windowAwayFromEdge(ms);
  return {
    bucket: tokenBucket({ capacity: limit, refill: `1/${ms}ms` }),
    window: fixedWindow({ limit, window }),
    fromFirst: fixedWindow({ limit, window: ms, from: 'first-request' }),
    sliding: slidingWindow({ limit, window }),
    log: slidingLog({ limit, window: ms }),
    quota: quota({ limit, period: 'year' }),
    holders: concurrency({ limit, expires: ms }),
    failures: consecutiveFailures({ limit, free: limit - 1, longestWait: '30s', forget: ms }),
  };
}

const rulesOf = (limits: Record<string, CountedLimit>, more?: Partial<RuleOptions>): Record<string, RuleOptions> =>
  Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, { limit, ...more }]));

describe('over many servers', () => {
  it('a code is sent 3 times in 600 s to one phone number, asked 50 times at once', async () => {
    const rules = rulesOf(everyLimit(3, 600_000));
    const [a, b] = [limiterOf(rules), limiterOf(rules)];
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
    const together = Array.from({ length: 10 }, () => limiterOf(rules));
    expect(await ask(together)).toBe(120);
  });

  it('split limits refuse 18 of 30 requests of a client that sticks to one server, the shared store none', async () => {
    const window = windowAwayFromEdge(60_000);
    const split = createLimiter({ store: memoryStore(), rules: { api: { limit: fixedWindow({ limit: 120 / 10, window }) } } });
    const shared = limiterOf({ api: { limit: fixedWindow({ limit: 120, window }) } });
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
    const limiter = limiterOf({ api: { limit: tokenBucket({ capacity: 20, refill: '1/h' }) } });
    await limiter.ready();
    const watch = await monitor(server.port);
    open.push(async () => watch.stop());
    expect(passed(await parallel(64, () => limiter.check('api', 'key')))).toBe(20);
    // The first call may find no script yet.
    expect(await watch.count('EVALSHA')).toBe(1);
  });

  it('under load goes in two script calls, so that the next is on its way while one is read', async () => {
    const limiter = limiterOf({ api: { limit: tokenBucket({ capacity: 1000, refill: '1/h' }) } });
    await limiter.ready();
    const watch = await monitor(server.port);
    open.push(async () => watch.stop());
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
    const limiter = limiterOf({ api: { limit: tokenBucket({ capacity: 20, refill: '1/h' }) } });
    await limiter.check('api', 'used');
    for (const key of ['used', 'new']) await limiter.ban('api', key, '1m');
    const watch = await monitor(server.port);
    open.push(async () => watch.stop());
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
    const limiter = limiterOf({
      api: { limit },
      strict: { limit, whenUnavailable: 'refuse' },
      lenient: { limit, whenUnavailable: 'allow' },
    });
    await client.lpush('hg:2{key7}b:api', 'not a counter');
    await client.set('hg:2{key8}b:strict', 'not a counter either', 'EX', 100);
    await client.hset('hg:2{key9}b:lenient', 'field', 'value');
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
    expect(await client.lrange('hg:2{key7}b:api', 0, -1)).toEqual(['not a counter']);
    await client.del('hg:2{key7}b:api', 'hg:2{key9}b:lenient');
  });

  it('at the store rejects that group alone, with a code, and the groups beside it are right', async () => {
    const store: Store = redisStore({ client });
    open.push(() => store.close());
    const limit = fixedWindow({ limit: 5, window: windowAwayFromEdge(60_000) });
    await client.lpush('hg:2{key7}w:api', 'not a counter');
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
    await client.del('hg:2{key7}w:api');
  });
});

describe('a value that somebody left without a TTL', () => {
  const keysOf = async (): Promise<string> => (await stateKeys())[0] ?? '';
  it.each(Object.entries(everyLimit(5)))(
    '%s: heals at the next check, allowed, refused or banned, and keeps its count',
    async (rule, limit) => {
      const limiter = limiterOf({ [rule]: { limit } });
      for (const left of [4, 3, 2, 1, 0]) {
        expect(await limiter.check(rule, 'key')).toMatchObject({ allowed: true, remaining: left });
        const key = await keysOf();
        expect(await client.pttl(key)).toBeGreaterThan(0);
        await client.persist(key);
      }
      expect(await limiter.check(rule, 'key')).toMatchObject({ allowed: false, remaining: 0 });
      const key = await keysOf();
      expect(await client.pttl(key)).toBeGreaterThan(1000);
      await client.persist(key);
      expect(await limiter.checkAll([{ rule, key: 'key' }])).toMatchObject({ allowed: false });
      expect(await client.pttl(key)).toBeGreaterThan(1000);
      await client.persist(key);
      await limiter.ban(rule, 'key', '1m');
      expect(await client.pttl(key)).toBeGreaterThan(1000);
      await client.persist(key);
      expect(await limiter.check(rule, 'key')).toMatchObject({ allowed: false, reason: 'banned' });
      expect(await client.pttl(key)).toBeGreaterThan(1000);
    },
  );

  it('and that says nothing any more is gone soon after', async () => {
    const limiter = limiterOf({
      window: { limit: fixedWindow({ limit: 5, window: '200ms' }) },
      jobs: { limit: concurrency({ limit: 1, expires: '1s' }) },
    });
    await client.set('hg:2{key}w:window', packPair({ number: 5, time: 1_000_000 }));
    await client.set('hg:2{key}c:jobs', 'Cold:1000000:1,');
    expect(
      await limiter.checkAll([
        { rule: 'window', key: 'key' },
        { rule: 'jobs', key: 'key' },
      ]),
    ).toMatchObject({ allowed: true });
    await expect.poll(async () => (await stateKeys()).length, { timeout: 10_000 }).toBe(0);
  });

  it('heals when units are given back, too', async () => {
    const limiter = limiterOf(rulesOf(everyLimit(5)));
    for (const rule of Object.keys(everyLimit(5))) {
      const taken = await limiter.check(rule, 'key', { cost: 3 });
      const key = await keysOf();
      await client.persist(key);
      expect(Math.round(await limiter.refund(taken)), rule).toBe(3);
      expect(await client.pttl(key), rule).not.toBe(-1);
      await client.flushdb();
    }
  });
});

describe('what Redis is asked', () => {
  it('is one EVALSHA for a group of three rules of one client, a peek, or a turn', async () => {
    const limiter = limiterOf({
      perIp: { limit: fixedWindow({ limit: 100, window: '1h' }) },
      search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) },
      month: { limit: quota({ limit: 1000, period: 'month' }) },
    });
    // Each script is there.
    await limiter.check('search', 'warm');
    await limiter.peek('month', 'warm');
    const watch = await monitor(server.port);
    open.push(async () => watch.stop());
    const asked = async (): Promise<number> => {
      const counts = [await watch.count('EVALSHA'), await watch.count('EVAL'), await watch.count('GET'), await watch.count('TTL')];
      await watch.clear();
      return sum(counts);
    };
    await limiter.checkAll([
      { rule: 'perIp', key: 'key' },
      { rule: 'search', key: 'key' },
      { rule: 'month', key: 'key' },
    ]);
    expect(await asked()).toBe(1);
    await limiter.peek('month', 'key');
    expect(await asked()).toBe(1);
    await limiter.acquire('search', 'key', { maxWait: '1s' });
    expect(await asked()).toBe(1);
  });

  it('is nothing for a refusal that is noted, alone or in a group', async () => {
    const limit = fixedWindow({ limit: 1, window: '1h', from: 'first-request' });
    const limiter = createLimiter({ store: redisStore({ client }), deadline: '2s', rules: { perIp: { limit }, login: { limit } } });
    open.push(() => limiter.close());
    const ask = (account: string) =>
      limiter.checkAll([
        { rule: 'perIp', key: 'ip' },
        { rule: 'login', key: account },
      ]);
    await ask('a');
    expect(await ask('b')).toMatchObject({ allowed: false, source: 'store' });
    const watch = await monitor(server.port);
    open.push(async () => watch.stop());
    const began = performance.now();
    const noted = await Promise.all([...parallelNames(50).map(ask), limiter.check('perIp', 'ip')]);
    if (performance.now() - began > 900) throw new Error('too slow a machine: the notes are over');
    for (const { source, allowed, rule } of noted) expect([source, allowed, rule]).toEqual(['note', false, 'perIp']);
    expect(await watch.count('EVALSHA')).toBe(0);
  });

  it('holds no key in the clear under a keySecret, and whoever has the secret shares the counters', async () => {
    const rules = {
      otp: { limit: fixedWindow({ limit: 3, window: '1h', from: 'first-request' }) },
      jobs: { limit: concurrency({ limit: 3, expires: '1h' }) },
    } as const;
    const keySecret = 'a secret of 25 characters';
    const [a, b, other] = [
      limiterOf(rules, { keySecret }),
      limiterOf(rules, { keySecret }),
      limiterOf(rules, { keySecret: `${keySecret}!` }),
    ];
    const phone = '+41791234567';
    const taken = await a.check('otp', phone);
    const held = await a.check('jobs', phone);
    const receipt = a.receipt(taken);
    if (receipt === undefined) throw new Error('nothing was taken');
    expect(await b.check('otp', phone)).toMatchObject({ remaining: 1 });
    expect(await other.check('otp', phone)).toMatchObject({ remaining: 2 });
    await b.ban('otp', phone, '1m');
    await b.unban('otp', phone);
    expect(await b.refund(receipt)).toBe(1);
    expect(await a.extend(held)).toBe(true);
    const keys = await stateKeys();
    expect(keys).toHaveLength(4);
    const values = await Promise.all(keys.map((key) => client.get(key)));
    expect([...keys, ...values].join(' ')).not.toMatch(/41791234567|secret/);
  });

  it('is kept apart by the prefix, whatever characters it has', async () => {
    const rules = { api: { limit: fixedWindow({ limit: 1, window: '1h', from: 'first-request' }) } } as const;
    const prefixes = ['hg', 'hg:2', 'a{b}', 'a%7Bb%7D', 'ü', 'x y'];
    const decisions = await Promise.all(prefixes.map((prefix) => limiterOf(rules, { prefix }).check('api', 'key')));
    expect(decisions.map(({ allowed }) => allowed)).toEqual(prefixes.map(() => true));
    expect(await stateKeys()).toHaveLength(prefixes.length);
    expect(await limiterOf(rules, { prefix: 'hg:2' }).check('api', 'key')).toMatchObject({ allowed: false });
  });

  it('is gone when clients are idle', async () => {
    const short: Duration = '300ms';
    const limits = {
      bucket: tokenBucket({ capacity: 3, refill: '10/s' }),
      window: fixedWindow({ limit: 3, window: short }),
      fromFirst: fixedWindow({ limit: 3, window: short, from: 'first-request' }),
      sliding: slidingWindow({ limit: 3, window: short }),
      log: slidingLog({ limit: 3, window: short }),
      holders: concurrency({ limit: 3, expires: short }),
      failures: consecutiveFailures({ limit: 3, firstWait: 100, longestWait: 100, forget: short }),
    };
    const limiter = limiterOf(rulesOf(limits));
    for (const rule of Object.keys(limits)) {
      for (let i = 0; i < 5; i += 1) await limiter.check(rule, 'key');
      await limiter.ban(rule, 'banned', '300ms');
      await limiter.refund(await limiter.check(rule, 'refunded'));
    }
    await expect.poll(async () => (await stateKeys()).length, { timeout: 10_000 }).toBe(0);
    expect(await limiter.check('bucket', 'key')).toMatchObject({ allowed: true, remaining: 2 });
  });
});
