import { describe, expect, it } from 'vitest';
import { monitor } from '../../../test/support/monitor.js';
import {
  concurrency,
  consecutiveFailures,
  createLimiter,
  fixedWindow,
  quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../src/index.js';
import type { Duration } from '../src/index.js';
import { redisStore } from '../src/redis.js';
import { everyLimit, limitersInRedis, rulesOf } from './support/limiters-in-redis.js';
import { packPair } from './support/states.js';

const redis = limitersInRedis();

const parallelNames = (count: number): string[] => Array.from({ length: count }, (_, i) => `account-${i}`);

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

describe('a value that somebody left without a TTL', () => {
  const keysOf = async (): Promise<string> => (await redis.stateKeys())[0] ?? '';
  it.each(Object.entries(everyLimit(5)))(
    '%s: heals at the next check, allowed, refused or banned, and keeps its count',
    async (rule, limit) => {
      const limiter = redis.limiterOf({ [rule]: { limit } });
      for (const left of [4, 3, 2, 1, 0]) {
        expect(await limiter.check(rule, 'key')).toMatchObject({ allowed: true, remaining: left });
        const key = await keysOf();
        expect(await redis.client.pttl(key)).toBeGreaterThan(0);
        await redis.client.persist(key);
      }
      expect(await limiter.check(rule, 'key')).toMatchObject({ allowed: false, remaining: 0 });
      const key = await keysOf();
      expect(await redis.client.pttl(key)).toBeGreaterThan(1000);
      await redis.client.persist(key);
      expect(await limiter.checkAll([{ rule, key: 'key' }])).toMatchObject({ allowed: false });
      expect(await redis.client.pttl(key)).toBeGreaterThan(1000);
      await redis.client.persist(key);
      await limiter.ban(rule, 'key', '1m');
      expect(await redis.client.pttl(key)).toBeGreaterThan(1000);
      await redis.client.persist(key);
      expect(await limiter.check(rule, 'key')).toMatchObject({ allowed: false, reason: 'banned' });
      expect(await redis.client.pttl(key)).toBeGreaterThan(1000);
    },
  );

  it('and that says nothing any more is gone soon after', async () => {
    const limiter = redis.limiterOf({
      window: { limit: fixedWindow({ limit: 5, window: '200ms' }) },
      jobs: { limit: concurrency({ limit: 1, expires: '1s' }) },
    });
    await redis.client.set('hg:2{key}w:window', packPair({ number: 5, time: 1_000_000 }));
    await redis.client.set('hg:2{key}c:jobs', 'Cold:1000000:1,');
    expect(
      await limiter.checkAll([
        { rule: 'window', key: 'key' },
        { rule: 'jobs', key: 'key' },
      ]),
    ).toMatchObject({ allowed: true });
    await expect.poll(async () => (await redis.stateKeys()).length, { timeout: 10_000 }).toBe(0);
  });

  it('heals when units are given back, too', async () => {
    const limiter = redis.limiterOf(rulesOf(everyLimit(5)));
    for (const rule of Object.keys(everyLimit(5))) {
      const taken = await limiter.check(rule, 'key', { cost: 3 });
      const key = await keysOf();
      await redis.client.persist(key);
      expect(Math.round(await limiter.refund(taken)), rule).toBe(3);
      expect(await redis.client.pttl(key), rule).not.toBe(-1);
      await redis.client.flushdb();
    }
  });
});

describe('what Redis is asked', () => {
  it('is one EVALSHA for a group of three rules of one client, a peek, or a turn', async () => {
    const limiter = redis.limiterOf({
      perIp: { limit: fixedWindow({ limit: 100, window: '1h' }) },
      search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) },
      month: { limit: quota({ limit: 1000, period: 'month' }) },
    });
    // Each script is there.
    await limiter.check('search', 'warm');
    await limiter.peek('month', 'warm');
    const watch = await monitor(redis.server.port);
    redis.open.push(async () => watch.stop());
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
    const limiter = createLimiter({
      store: redisStore({ client: redis.client }),
      deadline: '2s',
      rules: { perIp: { limit }, login: { limit } },
    });
    redis.open.push(() => limiter.close());
    const ask = (account: string) =>
      limiter.checkAll([
        { rule: 'perIp', key: 'ip' },
        { rule: 'login', key: account },
      ]);
    await ask('a');
    expect(await ask('b')).toMatchObject({ allowed: false, source: 'store' });
    const watch = await monitor(redis.server.port);
    redis.open.push(async () => watch.stop());
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
      redis.limiterOf(rules, { keySecret }),
      redis.limiterOf(rules, { keySecret }),
      redis.limiterOf(rules, { keySecret: `${keySecret}!` }),
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
    const keys = await redis.stateKeys();
    expect(keys).toHaveLength(4);
    const values = await Promise.all(keys.map((key) => redis.client.get(key)));
    expect([...keys, ...values].join(' ')).not.toMatch(/41791234567|secret/);
  });

  it('is kept apart by the prefix, whatever characters it has', async () => {
    const rules = { api: { limit: fixedWindow({ limit: 1, window: '1h', from: 'first-request' }) } } as const;
    const prefixes = ['hg', 'hg:2', 'a{b}', 'a%7Bb%7D', 'ü', 'x y'];
    const decisions = await Promise.all(prefixes.map((prefix) => redis.limiterOf(rules, { prefix }).check('api', 'key')));
    expect(decisions.map(({ allowed }) => allowed)).toEqual(prefixes.map(() => true));
    expect(await redis.stateKeys()).toHaveLength(prefixes.length);
    expect(await redis.limiterOf(rules, { prefix: 'hg:2' }).check('api', 'key')).toMatchObject({ allowed: false });
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
    const limiter = redis.limiterOf(rulesOf(limits));
    for (const rule of Object.keys(limits)) {
      for (let i = 0; i < 5; i += 1) await limiter.check(rule, 'key');
      await limiter.ban(rule, 'banned', '300ms');
      await limiter.refund(await limiter.check(rule, 'refunded'));
    }
    await expect.poll(async () => (await redis.stateKeys()).length, { timeout: 10_000 }).toBe(0);
    expect(await limiter.check('bucket', 'key')).toMatchObject({ allowed: true, remaining: 2 });
  });
});
