import { layersOver } from './layers/stack.js';
import { createRedisStore, type RedisStoreOptions } from './stores/redis/redis-store.js';
import type { Store } from './stores/store.js';

export type { RedisCall } from './stores/redis/timed.js';
export type { RedisStoreOptions };

/**
 * Counters in Redis or Valkey, shared by every process that uses the same servers and prefix. Each decision is one atomic
 * step there, by Redis's clock. Making a store never throws because Redis is away.
 *
 * @throws ConfigError if the client is of a kind Headgate cannot use, or an option is wrong
 * @example
 * ```ts
 * import { createLimiter, tokenBucket } from 'headgate';
 * import { redisStore } from 'headgate/redis';
 * import { Redis } from 'ioredis';
 *
 * const limiter = createLimiter({
 *   store: redisStore({ client: new Redis('redis://127.0.0.1:6379') }),
 *   rules: { search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) } },
 * });
 * ```
 */
export function redisStore(options: RedisStoreOptions): Store {
  return { ...createRedisStore(options), layers: layersOver };
}
