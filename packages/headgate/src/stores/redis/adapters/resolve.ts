import { ConfigError, show } from '../../../errors.js';
import type { RedisAdapter } from './adapter.js';
import { glideAdapter, isGlide } from './glide.js';
import { ioredisAdapter, isIoredis } from './ioredis.js';
import { isNodeRedisClient, isNodeRedisCluster, isNodeRedisPool, isNodeRedisSentinel } from './node-redis-client.js';
import { nodeRedisClientAdapter, nodeRedisClusterAdapter, nodeRedisPoolAdapter, nodeRedisSentinelAdapter } from './node-redis.js';

const usable =
  'pass one of: new Redis(...) or new Cluster(...) of ioredis >= 5; createClient(...), createClientPool(...), createCluster(...) ' +
  'or createSentinel(...) of redis (node-redis) >= 5; await GlideClient.createClient(...) or await ' +
  'GlideClusterClient.createClient(...) of @valkey/valkey-glide >= 2';

/**
 * The adapter for a client, found by what the client can do.
 *
 * @throws ConfigError HEADGATE_BAD_CLIENT that says what to pass instead
 */
export function resolveAdapter(client: unknown, where = 'redisStore.client'): RedisAdapter {
  const bad = (what: string, mend = usable): ConfigError => new ConfigError('HEADGATE_BAD_CLIENT', `${where}: ${what}; ${mend}`);
  if (typeof client === 'string') throw bad('expected a client, got a string: an address is given to the client, not to Headgate');
  if (typeof client === 'function') throw bad('expected a client, got a class or function: make an instance of it');
  if (typeof client !== 'object' || client === null) throw bad(`expected a client, got ${show(client)}`);
  if (typeof (client as { then?: unknown }).then === 'function') throw bad('expected a client, got a promise: await it first');

  if (isIoredis(client)) return ioredisAdapter(client);
  if (isNodeRedisSentinel(client)) {
    if (client.duplicate) return nodeRedisSentinelAdapter(client);
    if (!client._execute)
      throw bad('this sentinel client can neither be duplicated nor used without repetitions', 'use redis (node-redis) >= 6');
    if (!client.isOpen)
      throw bad('a sentinel client of redis 5 cannot be duplicated and is not open', 'call its connect() first, or use redis >= 6');
    return nodeRedisSentinelAdapter(client);
  }
  if (isNodeRedisCluster(client)) return nodeRedisClusterAdapter(client);
  if (isNodeRedisPool(client)) {
    if (!client.isOpen) {
      throw bad(
        'a client pool cannot be duplicated before it is open',
        'call its connect() first (no need to await it), or pass createClient(...)',
      );
    }
    return nodeRedisPoolAdapter(client);
  }
  if (isNodeRedisClient(client)) return nodeRedisClientAdapter(client);
  if (isGlide(client)) return glideAdapter(client);
  throw bad(`cannot use ${show(client)} as a Redis client`);
}
