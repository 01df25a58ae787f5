/** Counters in Redis or Valkey, through the user's own client. */
export { redisStore, type RedisStoreOptions } from './redis-store.js';
export type { RedisCall } from './timed.js';
