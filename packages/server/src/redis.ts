import { Cluster, Redis } from 'ioredis';
import { redisStore, type RedisStoreOptions } from 'headgate/redis';
import type { Store } from 'headgate';
import type { RedisAddress } from './redis-address.js';
import type { RedisServer } from './redis-servers.js';

/**
 * A store over the Redis, or over several that share the keys. The connections that the store makes for itself are those in use; ours
 * only describe them.
 */
export function openRedis(servers: readonly RedisServer[], own: Pick<RedisStoreOptions, 'prefix' | 'onCall'> = {}): Store {
  const [first] = servers;
  if (first !== undefined && first.name === undefined) return redisStore({ client: describe(first.address), ...own });
  const byName = <T>(of: (server: RedisServer) => T): Record<string, T> =>
    Object.fromEntries(servers.map((server) => [server.name ?? '', of(server)]));
  return redisStore({
    clients: byName(({ address }) => describe(address)),
    weights: byName(({ weight }) => weight),
    ...own,
  });
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
