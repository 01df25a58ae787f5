import { Cluster, Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startCluster, type RedisCluster } from '../../../test/support/cluster.js';
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
import { redisStore } from '../src/redis.js';
import { windowAwayFromEdge } from './support/away-from-edges.js';

let cluster: RedisCluster;
let client: Cluster;
let nodes: Redis[];
beforeAll(async () => {
  cluster = await startCluster({ masters: 3 });
  client = new Cluster(cluster.nodes.map(({ host, port }) => ({ host, port })));
  nodes = cluster.nodes.map(({ host, port }) => new Redis(port, host));
}, 30_000);
afterAll(async () => {
  for (const node of nodes) {
    for (const key of await node.keys('*')) expect(await node.pttl(key), key).not.toBe(-1);
    node.disconnect();
  }
  client.disconnect();
  await cluster.stop();
});

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
  for (const node of nodes) await node.flushall();
});

const window = windowAwayFromEdge(3_600_000);
const rules = {
  bucket: { limit: tokenBucket({ capacity: 3, refill: '1/h' }) },
  window: { limit: fixedWindow({ limit: 3, window }) },
  fromFirst: { limit: fixedWindow({ limit: 3, window: '1h', from: 'first-request' }) },
  sliding: { limit: slidingWindow({ limit: 3, window }) },
  log: { limit: slidingLog({ limit: 3, window: '1h' }) },
  quota: { limit: quota({ limit: 3, period: 'year' }) },
  jobs: { limit: concurrency({ limit: 3, expires: '1h' }) },
  login: { limit: consecutiveFailures({ limit: 3, free: 2 }) },
} as const;
const names = Object.keys(rules) as (keyof typeof rules)[];

async function limiterOver() {
  const limiter = createLimiter({ store: redisStore({ client }), deadline: '2s', rules });
  open.push(() => limiter.close());
  await limiter.ready();
  return limiter;
}

const forget = async (): Promise<void> => void (await Promise.all(nodes.map((node) => node.script('FLUSH'))));

describe('three masters that forget their scripts between any two checks', () => {
  it.each(names)('%s: 200 keys in series, then 50 at once, are counted exactly', { timeout: 60_000 }, async (rule) => {
    const limiter = await limiterOver();
    for (let i = 0; i < 200; i += 1) {
      await forget();
      expect(await limiter.check(rule, `key${i}`)).toMatchObject({ allowed: true, remaining: 2, source: 'store' });
    }
    await forget();
    const keys = Array.from({ length: 50 }, (_, i) => `key${i}`);
    // Five at once for each key, forgotten again while they are on their way: 2 pass.
    const asked = [1, 2, 3, 4, 5].map(() => Promise.all(keys.map((key) => limiter.check(rule, key))));
    await forget();
    const decisions = (await Promise.all(asked)).flat();
    for (const key of keys)
      expect(
        decisions.filter((decision) => decision.key === key && decision.allowed),
        key,
      ).toHaveLength(2);
    expect(limiter.stats().degraded).toBe(0);
  });

  it('groups of one client, and groups over slots, are all or nothing', { timeout: 60_000 }, async () => {
    const limiter = await limiterOver();
    const ofOne = (key: string) => names.map((rule) => ({ rule, key }));
    for (let i = 0; i < 4; i += 1) {
      await forget();
      const group = await limiter.checkAll(ofOne('client'));
      expect(group).toMatchObject({ allowed: i < 3, degraded: false });
    }
    const overSlots = Array.from({ length: 12 }, (_, i) => ({ rule: names[i % names.length] ?? 'bucket', key: `slot${i}` }));
    await limiter.check('window', 'slot1', { cost: 3 });
    for (let i = 0; i < 3; i += 1) {
      await forget();
      expect(await limiter.checkAll(overSlots)).toMatchObject({ allowed: false, rule: 'window', key: 'slot1', degraded: false });
    }
    for (const { rule, key } of overSlots) if (key !== 'slot1') expect(await limiter.peek(rule, key), rule).toMatchObject({ remaining: 3 });
    await limiter.reset('window', 'slot1');
    const groups = await Promise.all(Array.from({ length: 20 }, () => limiter.checkAll(overSlots)));
    expect(groups.filter(({ allowed }) => allowed).length).toBeLessThanOrEqual(3);
    for (const { rule, key } of overSlots) {
      const { remaining } = await limiter.peek(rule, key);
      expect(remaining, rule).toBeGreaterThanOrEqual(3 - groups.filter(({ allowed }) => allowed).length - 0.01);
    }
    expect(limiter.stats()).toMatchObject({ degraded: 0, unreturned: 0 });
  });

  it('every other verb works', async () => {
    const limiter = await limiterOver();
    for (const rule of names) {
      await forget();
      const taken = await limiter.check(rule, 'key', { cost: 2 });
      const receipt = limiter.receipt(taken);
      if (receipt === undefined) throw new Error('nothing was taken');
      await forget();
      if (rule === 'jobs') expect(await limiter.extend(receipt)).toBe(true);
      await forget();
      expect(Math.round(await limiter.refund(receipt)), rule).toBe(2);
      expect(await limiter.refund(receipt), rule).toBe(0);
      await forget();
      await limiter.ban(rule, 'key', '1m');
      await forget();
      expect(await limiter.peek(rule, 'key')).toMatchObject({ reason: 'banned' });
      await limiter.reset(rule, 'key');
      await forget();
      await limiter.unban(rule, 'key');
      expect(await limiter.peek(rule, 'key')).toMatchObject({ remaining: 3 });
    }
  });
});

describe('in a cluster', () => {
  it('one client’s rules are one script call on one node', async () => {
    const limiter = await limiterOver();
    const watches = await Promise.all(cluster.nodes.map(({ port }) => monitor(port)));
    open.push(() => watches.forEach((watch) => watch.stop()));
    await limiter.checkAll([
      { rule: 'bucket', key: 'key' },
      { rule: 'window', key: 'key' },
      { rule: 'quota', key: 'key' },
    ]);
    const counts = await Promise.all(watches.map((watch) => watch.count('EVALSHA')));
    expect(counts.sort()).toEqual([0, 0, 1]);
  });

  it('keys of any text find their node', async () => {
    const limiter = await limiterOver();
    const keys = ['{a}b', 'a}b{c', '{}', '::ffff:1.2.3.4', 'ü', '日本', '\u{1f600}', 'x'.repeat(5000), '%7Ba%7D', ' ', '\n', '#hash', '*'];
    const decisions = await Promise.all(keys.flatMap((key) => names.map((rule) => limiter.check(rule, key))));
    for (const { allowed, remaining, degraded } of decisions)
      expect({ allowed, remaining, degraded }).toEqual({ allowed: true, remaining: 2, degraded: false });
    for (const key of keys) await limiter.ban('bucket', key, '1m');
  });
});
