import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { startRedis, type RedisServer } from '../../../../test/support/redis.js';
import {
  concurrency,
  consecutiveFailures,
  createLimiter,
  fixedWindow,
  quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.js';
import type { CountedLimit, Limiter, RuleOptions } from '../../src/index.js';
import { redisStore, type RedisStoreOptions } from '../../src/redis.js';
import { windowAwayFromEdge } from './away-from-edges.js';

/** A Redis for the tests of a file, and limiters over it. After each test all that was opened is closed, no key is for ever, and it is emptied. */
export interface LimitersInRedis {
  server: RedisServer;
  client: Redis;
  /** What is to be closed after the test. */
  readonly open: (() => Promise<unknown>)[];
  limiterOf<const Name extends string>(rules: Record<Name, RuleOptions>, options?: Partial<RedisStoreOptions>): Limiter<Name>;
  /** All keys but those of the heartbeats. */
  stateKeys(): Promise<string[]>;
}

export function limitersInRedis(): LimitersInRedis {
  const open: (() => Promise<unknown>)[] = [];
  const made = {
    open,
    limiterOf(rules, options = {}) {
      // Without notes: what is tested here is what Redis says.
      const limiter = createLimiter({ store: redisStore({ client: made.client, ...options }), deadline: '2s', rules, notes: { max: 0 } });
      open.push(() => limiter.close());
      return limiter;
    },
    stateKeys: async () => (await made.client.keys('*')).filter((key) => !key.includes('{fleet}f:')),
  } as LimitersInRedis;
  beforeAll(async () => {
    made.server = await startRedis();
    made.client = new Redis(made.server.port, made.server.host);
  });
  afterAll(async () => {
    made.client.disconnect();
    await made.server.kill();
  });
  afterEach(async () => {
    for (const close of open.splice(0)) await close();
    const ttls = await Promise.all((await made.client.keys('*')).map(async (key) => [key, await made.client.pttl(key)]));
    expect(ttls.filter(([, ttl]) => ttl === -1)).toEqual([]);
    await made.client.flushdb();
  });
  return made;
}

/** Every kind of limit, `limit` units in about `ms`, none of which flow back while a test runs. */
export function everyLimit(limit: number, ms = 3_600_000): Record<string, CountedLimit> {
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

export const rulesOf = (limits: Record<string, CountedLimit>, more?: Partial<RuleOptions>): Record<string, RuleOptions> =>
  Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, { limit, ...more }]));
