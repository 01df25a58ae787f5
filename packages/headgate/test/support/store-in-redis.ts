import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { startRedis, type RedisServer } from '../../../../test/support/redis.js';
import type { Store } from '../../src/index.js';
import { redisStore } from '../../src/redis.js';

/** A Redis for the tests of a file, and a store in it: there once the first test begins, and emptied after each. */
export interface StoreInRedis {
  server: RedisServer;
  client: Redis;
  store: Store;
}

export function storeInRedis(): StoreInRedis {
  const made = {} as StoreInRedis;
  beforeAll(async () => {
    made.server = await startRedis();
    made.client = new Redis(made.server.port, made.server.host);
    made.store = redisStore({ client: made.client });
  });
  afterAll(async () => {
    await made.store.close();
    made.client.disconnect();
    await made.server.kill();
  });
  afterEach(async () => {
    await made.client.flushdb();
  });
  return made;
}
