import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startRedis, type RedisServer } from '../../../test/support/redis.js';
import { redisStore } from '../src/redis.js';
import type { Store } from '../src/index.js';

const servers: RedisServer[] = [];
const clients: Redis[] = [];
let one: Store;
let sharded: Store;
beforeAll(async () => {
  for (let i = 0; i < 2; i += 1) servers.push(await startRedis());
  clients.push(...servers.map(({ port, host }) => new Redis(port, host)));
  one = redisStore({ client: clients[0] });
  sharded = redisStore({ clients: { a: clients[0], b: clients[1] } });
});
afterAll(async () => {
  await one.close();
  await sharded.close();
  for (const client of clients) client.disconnect();
  for (const server of servers) await server.kill();
});
afterEach(async () => {
  for (const client of clients) await client.flushdb();
});

const keysOf = (...keys: string[]) => keys.map((key) => ({ rule: 'api', key }));

describe('processes that count on keys by themselves', () => {
  it('are counted for each key, each once, by the time that they said', async () => {
    const meet = (member: string, keys: string[], forUs = 60_000_000) => one.meet?.({ member, forUs, keys: keysOf(...keys) });
    expect(await meet('p', ['x', 'y'])).toEqual([1, 1]);
    expect(await meet('q', ['y', 'z'])).toEqual([2, 1]);
    expect(await meet('p', ['y', 'x', 'z'])).toEqual([2, 1, 2]);
  });

  it('are no longer there when their time is over', async () => {
    await one.meet?.({ member: 'gone', forUs: 1000, keys: keysOf('x') });
    await expect.poll(() => one.meet?.({ member: 'p', forUs: 60_000_000, keys: keysOf('x') }), { interval: 2 }).toEqual([1]);
  });

  it('leave a key with a TTL, as long as the process counts and a millisecond longer', async () => {
    await one.meet?.({ member: 'p', forUs: 2_500_300, keys: keysOf('x', 'y') });
    const found = await clients[0]?.keys('hg:2{*}m:api');
    expect(found?.sort()).toEqual(['hg:2{x}m:api', 'hg:2{y}m:api']);
    for (const key of found ?? []) {
      const ttl = (await clients[0]?.pttl(key)) ?? 0;
      expect(ttl).toBeGreaterThan(2000);
      expect(ttl).toBeLessThanOrEqual(2502);
    }
  });

  it('are counted on the shard that has the key', async () => {
    const keys = Array.from({ length: 40 }, (_, i) => `key${i}`);
    await sharded.meet?.({ member: 'p', forUs: 60_000_000, keys: keysOf(...keys.slice(0, 20)) });
    const counts = await sharded.meet?.({ member: 'q', forUs: 60_000_000, keys: keysOf(...keys) });
    expect(counts).toEqual(keys.map((_, i) => (i < 20 ? 2 : 1)));
    const there = await Promise.all(clients.map((client) => client.dbsize()));
    expect(Math.min(...there)).toBeGreaterThan(5);
    expect(there.reduce((sum, size) => sum + size, 0)).toBe(40);
  });
});

describe('processes that share a store', () => {
  const beat = (store: Store, member: string, forUs = 60_000_000) => store.beat?.({ member, layout: 'alike', forUs });

  it.each([
    ['of one server', () => one],
    ['of two shards', () => sharded],
  ])('%s are counted, each once, and no longer when they leave', async (_, store) => {
    expect(await beat(store(), 'p')).toEqual({ members: 1, strangers: 0 });
    expect(await beat(store(), 'q')).toEqual({ members: 2, strangers: 0 });
    await beat(store(), 'p', 0);
    expect(await beat(store(), 'q')).toEqual({ members: 1, strangers: 0 });
  });
});
