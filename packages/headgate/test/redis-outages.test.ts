import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startCluster } from '../../../test/support/cluster.js';
import { monitor } from '../../../test/support/monitor.js';
import { startProxy } from '../../../test/support/proxy.js';
import { freePort, host, startRedis, type RedisServer } from '../../../test/support/redis.js';
import { createLimiter, fixedWindow } from '../src/index.js';
import { redisStore } from '../src/redis.js';
import { clusterClients, earlyClients, singleClients, type MakeClient } from './support/clients.js';

const unhandled: unknown[] = [];
const record = (reason: unknown): void => void unhandled.push(reason);
beforeAll(() => void process.on('unhandledRejection', record));
afterAll(() => {
  process.off('unhandledRejection', record);
  expect(unhandled).toEqual([]);
});

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

async function redis(): Promise<RedisServer> {
  const server = await startRedis();
  open.push(server.kill);
  return server;
}

const perHour = fixedWindow({ limit: 5, window: '1h', from: 'first-request' });
/** What a loaded machine with two cores may add to a deadline. */
const margin = 250;

async function limiterOver(make: MakeClient, port: number, deadline: number) {
  const users = await make(port);
  open.push(users.close);
  const limiter = createLimiter({
    store: redisStore({ client: users.client }),
    deadline,
    // Without notes: each check shows whether the store is in use.
    notes: { max: 0 },
    rules: {
      api: { limit: perHour },
      strict: { limit: perHour, whenUnavailable: 'refuse' },
      lenient: { limit: perHour, whenUnavailable: 'allow' },
    },
  });
  open.push(() => limiter.close());
  /** A check, and that it was answered in time. */
  const check = async (rule: 'api' | 'strict' | 'lenient', key = 'key') => {
    const began = performance.now();
    const decision = await limiter.check(rule, key);
    expect(performance.now() - began).toBeLessThan(deadline + margin);
    return decision;
  };
  return { limiter, check };
}

/** The units that Redis has counted for a key. */
async function counted(server: RedisServer, rule = 'api', key = 'key'): Promise<number> {
  const count = "local state = redis.call('GET', KEYS[1]) return state and select(2, struct.unpack('>I7I5', state)) or 0";
  return Number(await server.command('EVAL', count, 1, `hg:2{${key}}w:${rule}`));
}

describe.each(singleClients)('%s, whose connection is cut after the script ran', (_name, make) => {
  it('counts the check once, decides it once without the store, and sends nothing again', { timeout: 20_000 }, async () => {
    const server = await redis();
    const proxy = await startProxy(server.port);
    open.push(proxy.close);
    const { limiter, check } = await limiterOver(make, proxy.port, 2000);
    await limiter.ready();
    expect(await check('api')).toMatchObject({ allowed: true, remaining: 4, source: 'store' });
    const watch = await monitor(server.port);
    open.push(watch.stop);
    const cut = proxy.cutReplies('{key}');
    expect(await check('api')).toMatchObject({ allowed: true, source: 'fallback', degraded: true });
    await cut;
    expect(await counted(server)).toBe(2);
    // In use again, without a restart; what passed in between was never sent, and is charged.
    let passed = 0;
    const other = async (): Promise<string> => {
      const { allowed, source } = await check('api', 'other');
      if (allowed) passed += 1;
      return source;
    };
    await expect.poll(other, { timeout: 10_000 }).toBe('store');
    await expect.poll(() => counted(server, 'api', 'other')).toBe(passed);
    const sent = (await watch.flush()).filter((line) => line.includes('] "EVALSHA"') && line.includes('{key}'));
    expect(sent).toHaveLength(1);
    expect(await counted(server)).toBe(2);
    expect(await check('api')).toMatchObject({ allowed: true, remaining: 2, source: 'store' });
  });
});

describe.each(singleClients)('%s, whose Redis is paused for two seconds', (_name, make) => {
  it('answers each check within its deadline, and counts no late reply twice', { timeout: 20_000 }, async () => {
    const server = await redis();
    const { limiter, check } = await limiterOver(make, server.port, 50);
    await limiter.ready();
    // Once more than the deadline may pass while a client makes its first connection.
    await expect.poll(async () => (await check('api', 'warm')).source).toBe('store');
    const { degraded } = limiter.stats();
    await server.command('CLIENT', 'PAUSE', 2000, 'ALL');
    const paused = performance.now();
    const single = [];
    for (let i = 0; i < 8; i += 1) single.push(await check('api'));
    const together = await Promise.all(Array.from({ length: 30 }, () => check('api')));
    expect((await check('strict')).allowed).toBe(false);
    expect((await check('lenient')).allowed).toBe(true);
    // Two seconds are long enough for all of this, many times over.
    expect(performance.now() - paused).toBeLessThan(2000);
    const all = [...single, ...together];
    expect(all.every((decision) => decision.degraded && decision.source === 'fallback')).toBe(true);
    expect(all.filter(({ allowed }) => allowed)).toHaveLength(5);
    expect(limiter.stats().degraded - degraded).toBe(all.length + 2);
    await expect.poll(async () => (await check('strict', 'back')).source, { timeout: 10_000 }).toBe('store');
    // All that passed is counted, each once: those on their way when the deadline passed, and those that were never sent, charged now.
    await expect.poll(() => counted(server), { timeout: 5000 }).toBe(5);
    for (let i = 0; i < 3; i += 1) expect(await check('api')).toMatchObject({ allowed: false, degraded: false });
    expect(await counted(server)).toBe(5);
    expect(limiter.stats().owing).toBe(0);
  });
});

describe.each(earlyClients)('%s, whose port is closed when the limiter is made', (name, make) => {
  it('constructs, decides within the deadline, and uses a Redis that comes up later', { timeout: 30_000 }, async () => {
    const port = await freePort(10_000);
    const { limiter, check } = await limiterOver(make, port, 20);
    expect(await check('api')).toMatchObject({ allowed: true, degraded: true, source: 'fallback' });
    expect(await check('strict')).toMatchObject({ allowed: false, reason: 'store-unavailable', degraded: true });
    expect(await check('lenient')).toMatchObject({ allowed: true, reason: 'store-unavailable', degraded: true });
    await expect(limiter.ready()).rejects.toMatchObject({ name: 'StoreError' });
    const clustered = /cluster/i.test(name);
    const server = await startRedis({ port, ...(clustered && { args: ['--cluster-enabled', 'yes', '--cluster-announce-ip', host] }) });
    open.push(server.kill);
    if (clustered) {
      // Found while it is still being formed: nobody serves a slot.
      const clients = async (): Promise<number> =>
        Number(/total_connections_received:(\d+)/.exec(String(await server.command('INFO', 'stats')))?.[1]);
      const before = await clients();
      let asked = 0;
      await expect.poll(async () => (await clients()) - before - (asked += 1), { timeout: 10_000 }).toBeGreaterThan(0);
      const slots = Array.from({ length: 16_384 }, (_, slot) => slot);
      await server.command('CLUSTER', 'ADDSLOTS', ...slots);
    }
    await expect.poll(async () => (await check('strict', 'back')).source, { timeout: 10_000 }).toBe('store');
    await limiter.ready();
    expect(await check('strict')).toMatchObject({ allowed: true, degraded: false, source: 'store' });
  });
});

describe.each(clusterClients)('%s, of whose cluster one node is away', (_name, make) => {
  it('decides the keys of the other nodes in Redis all the same', { timeout: 30_000 }, async () => {
    const cluster = await startCluster({ masters: 3 });
    open.push(cluster.stop);
    const { limiter, check } = await limiterOver(make, cluster.nodes[0]?.port ?? 0, 300);
    await limiter.ready();
    // Slots of "a", "b", "c": 15495, 3300, 7365; of the three nodes the third's, the first's, the second's.
    const sources = async (): Promise<string[]> =>
      (await Promise.all(['a', 'b', 'c'].map((key) => check('api', key)))).map(({ source }) => source);
    await expect.poll(sources).toEqual(['store', 'store', 'store']);
    await cluster.nodes[1]?.command('CLIENT', 'PAUSE', 2000, 'ALL');
    for (let i = 0; i < 4; i += 1) expect(await sources()).toEqual(['store', 'store', 'fallback']);
    await expect.poll(sources, { timeout: 10_000 }).toEqual(['store', 'store', 'store']);
    await cluster.nodes[1]?.kill();
    for (let i = 0; i < 8; i += 1) expect(await sources()).toEqual(['store', 'store', 'fallback']);
  });
});

describe('Redis killed under three rules', () => {
  it(
    'gives three kinds of answers, none of them an exception, and is in use again within a second of its start',
    { timeout: 20_000 },
    async () => {
      const server = await redis();
      const { limiter, check } = await limiterOver(singleClients[0]?.[1] as MakeClient, server.port, 20);
      await limiter.ready();
      const rules = ['api', 'strict', 'lenient'] as const;
      for (const rule of rules) expect(await check(rule)).toMatchObject({ allowed: true, source: 'store' });
      await server.kill();
      for (let i = 0; i < 6; i += 1) {
        expect(await check('api')).toMatchObject({ allowed: i < 4, degraded: true, source: 'fallback' });
        expect(await check('strict')).toMatchObject({ allowed: false, degraded: true, reason: 'store-unavailable' });
        expect(await check('lenient')).toMatchObject({ allowed: true, degraded: true, reason: 'store-unavailable' });
      }
      await server.restart();
      const began = performance.now();
      await expect.poll(async () => (await check('strict', 'new')).source, { interval: 5 }).toBe('store');
      expect(performance.now() - began).toBeLessThan(1000);
      // It came back empty; what passed meanwhile is charged.
      await expect.poll(() => counted(server)).toBe(4);
      await expect.poll(() => counted(server, 'lenient')).toBe(5);
    },
  );
});

describe('Redis down under two processes that counted each other', () => {
  it('lets at most the limit of 30 through in all', { timeout: 20_000 }, async () => {
    const server = await redis();
    const make = singleClients[0]?.[1] as MakeClient;
    const limiters = await Promise.all(
      [0, 1].map(async () => {
        const { client, close } = await make(server.port);
        open.push(close);
        const rules = { api: { limit: fixedWindow({ limit: 30, window: '1h', from: 'first-request' }) } };
        const limiter = createLimiter({ store: redisStore({ client }), deadline: '2s', rules });
        open.push(() => limiter.close());
        return limiter;
      }),
    );
    for (const { stats } of limiters) await expect.poll(() => stats().fleet, { timeout: 5000 }).toBe(2);
    await server.kill();
    const decisions = [];
    for (let i = 0; i < 100; i += 1) for (const limiter of limiters) decisions.push(await limiter.check('api', 'client'));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(30);
    expect(decisions.every(({ degraded }) => degraded)).toBe(true);
  });
});

describe.each(singleClients.filter(([name]) => name.startsWith('ioredis')))(
  '%s, whose Redis host vanishes without a word',
  (_name, make) => {
    it('gives the connection up within seconds, and also the next, which does not even greet', { timeout: 30_000 }, async () => {
      const server = await redis();
      const proxy = await startProxy(server.port);
      open.push(proxy.close);
      const { limiter, check } = await limiterOver(make, proxy.port, 20);
      await limiter.ready();
      const { connections } = proxy.seen();
      proxy.pauseReplies();
      const vanished = performance.now();
      // The user's own client has no such watch.
      const opened = async (): Promise<number> => ((await check('api')).degraded ? proxy.seen().connections : 0);
      await expect.poll(opened, { timeout: 10_000, interval: 100 }).toBeGreaterThan(connections);
      expect(performance.now() - vanished).toBeGreaterThan(4000);
      await expect.poll(opened, { timeout: 10_000, interval: 100 }).toBeGreaterThan(connections + 1);
      proxy.resumeReplies();
      await expect.poll(async () => (await check('strict', 'back')).source, { timeout: 5000 }).toBe('store');
    });
  },
);
