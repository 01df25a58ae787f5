import { describe, expect, it } from 'vitest';
import { monitor } from '../../../test/support/monitor.js';
import { fixedWindow, tokenBucket } from '../src/index.js';
import type { Check } from '../src/index.js';
import { packPair, unpackPair } from './support/states.js';
import { storeInRedis } from './support/store-in-redis.js';

const redis = storeInRedis();

const limits = {
  bucket: tokenBucket({ capacity: 10, refill: '1/m' }),
  window: fixedWindow({ limit: 5, window: '365d' }),
  first: fixedWindow({ limit: 7, window: '1h', from: 'first-request' }),
};
const keys = { bucket: 'hg:2{key}b:bucket', window: 'hg:2{key}w:window', first: 'hg:2{key}w:first' };
const checkOf = (rule: keyof typeof limits, more: Partial<Check> = {}): Check => ({
  rule,
  key: 'key',
  limit: limits[rule],
  cost: 1,
  ...more,
});
const all = (cost = 1): Check[] => (['bucket', 'window', 'first'] as const).map((rule) => checkOf(rule, { cost }));

describe('a group of plain checks of buckets and fixed windows', () => {
  it('is decided by one call of its own script, and writes each state with its TTL', async () => {
    await redis.store.decide({ checks: all() });
    const watch = await monitor(redis.server.port);
    const answer = await redis.store.decide({ checks: all(2) });
    expect(await watch.count('EVALSHA')).toBe(1);
    watch.stop();
    expect(answer).toMatchObject({
      allowed: true,
      outcomes: [
        { taken: 2, remaining: 7 },
        { taken: 2, remaining: 2 },
        { taken: 2, remaining: 4 },
      ],
    });
    const [, , first] = answer.outcomes;
    const [bucket, window, fromFirst] = (await redis.client.mgetBuffer(...Object.values(keys))).map(unpackPair);
    expect(bucket).toEqual({ number: expect.closeTo(3_000_000, -4) as number, time: answer.now });
    expect(window).toEqual({ number: 3, time: answer.outcomes[1]?.windowEnd });
    expect(fromFirst).toEqual({ number: 3, time: first?.windowEnd });
    for (const [key, ms] of [
      [keys.bucket, 180_000],
      [keys.window, ((answer.outcomes[1]?.windowEnd ?? 0) - answer.now) / 1000],
      [keys.first, ((first?.windowEnd ?? 0) - answer.now) / 1000],
    ] as const) {
      const ttl = await redis.client.pttl(key);
      expect(ttl, key).toBeGreaterThan(ms - 1000);
      expect(ttl, key).toBeLessThanOrEqual(ms + 2);
    }
  });

  it('that is refused writes nothing', async () => {
    await redis.store.decide({ checks: all(4) });
    const before = await redis.client.mget(...Object.values(keys));
    const answer = await redis.store.decide({ checks: all(3) });
    expect(answer).toMatchObject({
      allowed: false,
      outcomes: [
        { allowed: true, taken: 0 },
        { allowed: false, remaining: 1 },
        { allowed: true, remaining: 3 },
      ],
    });
    expect(await redis.client.mget(...Object.values(keys))).toEqual(before);
  });

  it('gives a key without a TTL one, when it refuses too', async () => {
    await redis.store.decide({ checks: all(5) });
    for (const key of Object.values(keys)) await redis.client.persist(key);
    expect((await redis.store.decide({ checks: all(1) })).allowed).toBe(false);
    for (const key of Object.values(keys)) expect(await redis.client.pttl(key), key).toBeGreaterThan(0);
  });

  it('with a ban, a foreign value or a clock that went back is decided as by the general script', async () => {
    await redis.store.ban({ rule: 'window', key: 'key', kinds: ['fixedWindow'] }, 60_000_000);
    expect(await redis.store.decide({ checks: all() })).toMatchObject({
      allowed: false,
      outcomes: [{ allowed: true }, { reason: 'banned' }, { allowed: true }],
    });
    await redis.client.set(keys.window, 'somebody else’s', 'EX', 100);
    await expect(redis.store.decide({ checks: all() })).rejects.toThrow('did not write');
    await redis.client.del(keys.window);
    await redis.client.lpush(keys.window, 'a list');
    await expect(redis.store.decide({ checks: all() })).rejects.toThrow('did not write');
    await redis.client.del(keys.window);
    await redis.client.set(keys.bucket, packPair({ number: 9_000_000, time: (Date.now() + 60_000) * 1000 }), 'EX', 100);
    expect(await redis.store.decide({ checks: all() })).toMatchObject({ allowed: true, outcomes: [{ remaining: 0 }, {}, {}] });
  });

  it('that names one key twice takes for both or none', async () => {
    const twice = [checkOf('window', { cost: 3 }), checkOf('window', { cost: 3 })];
    expect((await redis.store.decide({ checks: twice })).allowed).toBe(false);
    expect(await redis.client.get(keys.window)).toBeNull();
  });
});
