import { ConfigError, show } from '../../../errors.js';
import type { RedisAdapter } from './adapter.js';
import { ioredisAdapter, isIoredis } from './ioredis.js';

const usable =
  'pass one of: new Redis(...) or new Cluster(...) of ioredis >= 5; createClient(...), createClientPool(...), createCluster(...) ' +
  'or createSentinel(...) of redis (node-redis) >= 5; await GlideClient.createClient(...) or await ' +
  'GlideClusterClient.createClient(...) of @valkey/valkey-glide >= 2';

function bad(what: string): ConfigError {
  return new ConfigError('HEADGATE_BAD_CLIENT', `redisStore.client: ${what}; ${usable}`);
}

/**
 * The adapter for a client, found by what the client can do.
 *
 * @throws ConfigError HEADGATE_BAD_CLIENT that says what to pass instead
 */
export function resolveAdapter(client: unknown): RedisAdapter {
  if (typeof client === 'string') throw bad('expected a client, got a string: an address is given to the client, not to Headgate');
  if (typeof client === 'function') throw bad(`expected a client, got a class or function: make an instance of it`);
  if (typeof client !== 'object' || client === null) throw bad(`expected a client, got ${show(client)}`);
  if (typeof (client as { then?: unknown }).then === 'function') throw bad('expected a client, got a promise: await it first');
  if (isIoredis(client)) return ioredisAdapter(client);
  throw bad(`cannot use ${show(client)} as a Redis client`);
}
