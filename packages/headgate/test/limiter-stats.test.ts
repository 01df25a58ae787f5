import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { startRedis } from '../../../test/support/redis.js';
import { createLimiter, fixedWindow, memoryStore } from '../src/index.js';
import { redisStore, type RedisCall } from '../src/redis.js';
import { fakeClock } from '../src/testing/index.js';
import { faultyStore } from './support/faulty-store.js';
import { over, perDay } from './support/guarding.js';
import { turn } from './support/limiters.js';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

describe('calls that the store did not answer', () => {
  it('are counted by why: late, failed, and not asked as it was away', async () => {
    const { limiter, faulty } = over({ api: { limit: perDay(100) } });
    await limiter.check('api', 'key');
    expect(limiter.stats().missed).toEqual({ late: 0, failed: 0, unasked: 0 });
    faulty.goes('hold');
    await limiter.check('api', 'key');
    faulty.goes('fail');
    await limiter.check('api', 'key');
    expect(limiter.stats().missed).toEqual({ late: 1, failed: 1, unasked: 0 });
    for (let i = 0; i < 10; i += 1) await limiter.check('api', 'key');
    const { missed, degraded, unavailable } = limiter.stats();
    expect(unavailable).toEqual(['store']);
    expect(missed.unasked).toBeGreaterThan(0);
    expect(missed.late + missed.failed + missed.unasked).toBe(degraded);
  });

  it('are none with the memory store', async () => {
    const limiter = createLimiter({ store: memoryStore(), rules: { api: { limit: perDay(1) } } });
    await limiter.check('api', 'key');
    expect(limiter.stats()).toMatchObject({ missed: { late: 0, failed: 0, unasked: 0 }, syncLagMs: 0 });
  });
});

describe('the lag of sync', () => {
  it('is the age of the oldest units that the store was not told of', async () => {
    const clock = fakeClock();
    const faulty = faultyStore(clock);
    const rules = { api: { limit: fixedWindow({ limit: 1000, window: '1d' }), mode: { sync: '1s' } } } as const;
    const limiter = createLimiter({ store: faulty.store, clock, deadline: '50ms', fleetSize: 1, rules, onEvent: () => undefined });
    open.push(() => limiter.close());
    const pass = async (ms: number): Promise<void> => {
      clock.advance(ms * 1000);
      await turn();
      await turn();
    };
    for (const key of ['a', 'b']) await limiter.check('api', key);
    await turn();
    expect(limiter.stats().syncLagMs).toBe(0);
    expect((await limiter.check('api', 'a')).source).toBe('sync');
    await pass(300);
    await limiter.check('api', 'b');
    await limiter.check('api', 'a');
    await pass(300);
    expect(limiter.stats().syncLagMs).toBe(600);
    await pass(400);
    expect(limiter.stats().syncLagMs).toBe(0);

    faulty.goes('fail');
    await limiter.check('api', 'a');
    for (let second = 0; second < 5; second += 1) await pass(1000);
    expect(limiter.stats().syncLagMs).toBe(5000);
    faulty.goes('answer');
    await expect.poll(async () => (await pass(1000), limiter.stats().syncLagMs)).toBe(0);
  });
});

describe('calls of Redis', () => {
  const rules = { api: { limit: fixedWindow({ limit: 1000, window: '1h' }) } };

  async function clientOf(server: Awaited<ReturnType<typeof startRedis>>): Promise<Redis> {
    open.push(server.kill);
    const client = new Redis(server.port, { lazyConnect: true });
    open.push(() => client.disconnect());
    return client;
  }

  it('are told with their time, one for many checks, by the name of the server', async () => {
    const calls: RedisCall[] = [];
    const clients = { a: await clientOf(await startRedis()), b: await clientOf(await startRedis()) };
    const limiter = createLimiter({
      store: redisStore({ clients, onCall: (call) => calls.push(call) }),
      deadline: '2s',
      fleetSize: 1,
      rules,
    });
    open.push(() => limiter.close());
    await limiter.ready();
    await Promise.all(Array.from({ length: 40 }, (_, i) => limiter.check('api', `key-${i}`)));
    expect(new Set(calls.map(({ shard }) => shard))).toEqual(new Set(['a', 'b']));
    expect(calls.length).toBeLessThan(10);
    for (const { ms, ok } of calls) {
      expect(ok).toBe(true);
      expect(ms).toBeGreaterThan(0);
    }
  });

  it('that fail are told as such, and a listener that throws fails no decision', async () => {
    const server = await startRedis();
    const calls: RedisCall[] = [];
    const onCall = (call: RedisCall): void => {
      calls.push(call);
      throw new Error('the listener is broken');
    };
    const warned: string[] = [];
    const hear = ({ message }: Error): void => void warned.push(message);
    process.on('warning', hear);
    open.push(() => process.off('warning', hear));
    const limiter = createLimiter({ store: redisStore({ client: await clientOf(server), onCall }), deadline: '2s', fleetSize: 1, rules });
    open.push(() => limiter.close());
    await limiter.ready();
    expect((await limiter.check('api', 'key')).degraded).toBe(false);
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    expect((await limiter.check('api', 'other')).degraded).toBe(true);
    expect(calls.map(({ shard, ok }) => ({ shard, ok }))).toEqual([
      { shard: 'store', ok: true },
      { shard: 'store', ok: false },
    ]);
    await expect.poll(() => warned).toContain('onCall threw: Error: the listener is broken');
  });
});
