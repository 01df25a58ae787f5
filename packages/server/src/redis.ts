import { Cluster, Redis } from 'ioredis';
import { redisStore } from 'headgate/redis';
import type { Store } from 'headgate';
import type { RedisAddress } from './redis-address.js';

/** A store over the Redis of an address. The connection that the store makes for itself is the one in use; ours only describes it. */
export function openRedis(address: RedisAddress, prefix?: string): Store {
  return redisStore({ client: describe(address), ...(prefix === undefined ? undefined : { prefix }) });
}

function describe({ kind, nodes, name, username, password, database, tls }: RedisAddress): Redis | Cluster {
  const login = {
    ...(username === undefined ? undefined : { username }),
    ...(password === undefined ? undefined : { password }),
    ...(tls ? { tls: {} } : undefined),
  };
  if (kind === 'cluster') return new Cluster([...nodes], { lazyConnect: true, redisOptions: login });
  if (kind === 'sentinel') {
    return new Redis({
      lazyConnect: true,
      sentinels: [...nodes],
      name: name ?? '',
      db: database,
      ...login,
      enableTLSForSentinelMode: tls,
    });
  }
  const [node] = nodes;
  return new Redis({ lazyConnect: true, host: node?.host ?? '127.0.0.1', port: node?.port ?? 6379, db: database, ...login });
}
