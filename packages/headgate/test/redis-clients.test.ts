import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startCluster, type RedisCluster } from '../../../test/support/cluster.js';
import { startRedis, type RedisServer } from '../../../test/support/redis.js';
import { startSentinel, type SentinelSetup } from '../../../test/support/sentinel.js';
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
import { clusterClients, sentinelClients, singleClients } from './support/clients.js';

let single: RedisServer;
let cluster: RedisCluster;
let sentinel: SentinelSetup;
beforeAll(async () => {
  [single, cluster, sentinel] = await Promise.all([startRedis(), startCluster({ masters: 3 }), startSentinel()]);
}, 30_000);
afterAll(async () => {
  await Promise.all([single.kill(), cluster.stop(), sentinel.stop()]);
});

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

const window = windowAwayFromEdge(3_600_000);
const rules = {
  bucket: { limit: tokenBucket({ capacity: 5, refill: '1/h' }) },
  window: { limit: fixedWindow({ limit: 5, window }) },
  sliding: { limit: slidingWindow({ limit: 5, window }) },
  log: { limit: slidingLog({ limit: 5, window: '1h' }) },
  quota: { limit: quota({ limit: 5, period: 'year' }) },
  jobs: { limit: concurrency({ limit: 5, expires: '1h' }) },
  login: { limit: consecutiveFailures({ limit: 5, free: 4 }) },
} as const;
const names = Object.keys(rules) as (keyof typeof rules)[];

const portOf = {
  single: () => single.port,
  cluster: () => cluster.nodes[1]?.port ?? 0,
  sentinel: () => sentinel.sentinel.port,
};
const kinds = [
  ...singleClients.map(([name, make]) => [name, portOf.single, make] as const),
  ...clusterClients.map(([name, make]) => [name, portOf.cluster, make] as const),
  ...sentinelClients.map(([name, make]) => [name, portOf.sentinel, make] as const),
];

describe.each(kinds)('a limiter over %s', (name, port, make) => {
  async function limiterOver() {
    const users = await make(port());
    open.push(users.close);
    const limiter = createLimiter({ store: redisStore({ client: users.client, prefix: name }), deadline: '2s', rules });
    open.push(() => limiter.close());
    await limiter.ready();
    return limiter;
  }

  it('lets exactly 5 of 50 checks at once pass, of every kind of limit and each key apart', async () => {
    const limiter = await limiterOver();
    for (const rule of names) {
      const keys = Array.from({ length: 50 }, (_, i) => `key${i % 2}`);
      const decisions = await Promise.all(keys.map((key) => limiter.check(rule, key)));
      expect(decisions.filter(({ allowed, key }) => allowed && key === 'key0').length, rule).toBe(5);
      expect(decisions.filter(({ allowed, key }) => allowed && key === 'key1').length, rule).toBe(5);
      expect(decisions.filter(({ source }) => source !== 'store')).toEqual([]);
    }
    expect(limiter.stats()).toMatchObject({ degraded: 0, unreturned: 0 });
  });

  it('serves every verb', async () => {
    const limiter = await limiterOver();
    const group = await limiter.checkAll(names.map((rule) => ({ rule, key: 'verbs' })));
    expect(group).toMatchObject({ allowed: true, remaining: 4 });
    expect(Math.round(await limiter.refund(group))).toBe(names.length);
    expect(await limiter.peek('window', 'verbs')).toMatchObject({ remaining: 5 });
    const reserved = await limiter.reserve('window', 'verbs', { cost: 3 });
    expect(await reserved.settle(5)).toEqual({ returned: 0, charged: 2 });
    expect(await limiter.check('window', 'verbs')).toMatchObject({ allowed: false });
    const held = await limiter.check('jobs', 'verbs');
    const receipt = limiter.receipt(held);
    if (receipt === undefined) throw new Error('nothing was taken');
    expect([await limiter.extend(held), await limiter.release(receipt), await limiter.release(receipt)]).toEqual([true, true, false]);
    await limiter.ban('window', 'verbs', '1m');
    expect(await limiter.check('window', 'verbs')).toMatchObject({ reason: 'banned' });
    await limiter.unban('window', 'verbs');
    await limiter.reset('window', 'verbs');
    expect(await limiter.acquire('window', 'verbs', { maxWait: '1s' })).toMatchObject({ allowed: true, remaining: 4 });
    expect(limiter.stats()).toMatchObject({ degraded: 0, unreturned: 0 });
  });

  it('serves 200 keys at once, and groups over several of them', async () => {
    const limiter = await limiterOver();
    const keys = Array.from({ length: 200 }, (_, i) => `spread${i}`);
    const decisions = await Promise.all(keys.map((key) => limiter.check('bucket', key)));
    expect(decisions.every(({ allowed, remaining, degraded }) => allowed && remaining === 4 && !degraded)).toBe(true);
    const group = await limiter.checkAll(keys.slice(0, 20).map((key) => ({ rule: 'bucket', key, cost: 4 })));
    expect(group).toMatchObject({ allowed: true, degraded: false, remaining: 0 });
    expect(
      await limiter.checkAll([
        { rule: 'bucket', key: 'spread50' },
        { rule: 'bucket', key: 'spread0' },
      ]),
    ).toMatchObject({ allowed: false, key: 'spread0' });
    // Given back, but that is not waited for.
    await expect.poll(() => limiter.peek('bucket', 'spread50')).toMatchObject({ remaining: 4 });
    expect(limiter.stats()).toMatchObject({ degraded: 0, unreturned: 0 });
  });
});
