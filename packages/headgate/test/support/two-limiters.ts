import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { startRedis, type RedisServer } from '../../../../test/support/redis.js';
import { createLimiter, memoryStore, type Limiter, type RuleOptions, type Store } from '../../src/index.js';
import { redisStore } from '../../src/redis.js';

/** Two limiters, as two servers have them, over one store; they are closed, and Redis is emptied, after each test. */
export type MakeTwo = <const Name extends string>(rules: Record<Name, RuleOptions>) => readonly [Limiter<Name>, Limiter<Name>];

export interface Deployments {
  /** The Redis that those in Redis share; there once the first test begins. */
  readonly server: () => RedisServer;
  readonly client: () => Redis;
  /** For `describe.each`: in memory, and in Redis. */
  readonly each: readonly (readonly [where: string, two: MakeTwo])[];
}

/** A Redis for the tests of a file, and the two ways in which two limiters share a store. */
export function deployments(): Deployments {
  let server: RedisServer;
  let client: Redis;
  const open: { close(): Promise<void> }[] = [];
  beforeAll(async () => {
    server = await startRedis();
    client = new Redis(server.port, server.host);
  });
  afterAll(async () => {
    client.disconnect();
    await server.kill();
  });
  afterEach(async () => {
    for (const limiter of open.splice(0)) await limiter.close();
    await client.flushdb();
  });

  const over =
    (stores: () => readonly [Store, Store]): MakeTwo =>
    (rules) => {
      const [one, other] = stores();
      const two = [createLimiter({ store: one, deadline: '2s', rules }), createLimiter({ store: other, deadline: '2s', rules })] as const;
      open.push(...two);
      return two;
    };
  const inMemory = over(() => {
    const store = memoryStore();
    return [store, store];
  });
  return {
    server: () => server,
    client: () => client,
    each: [
      ['in memory', inMemory],
      ['in Redis', over(() => [redisStore({ client }), redisStore({ client })])],
    ],
  };
}
