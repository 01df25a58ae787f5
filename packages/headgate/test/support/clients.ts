import { GlideClient, GlideClusterClient, Logger } from '@valkey/valkey-glide';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
import * as redis6 from 'redis';
import * as redis5 from 'redis5';
import { host } from '../../../../test/support/redis.js';

Logger.init('off');

/** A user's client for the server on `port`, as its documentation says to make one; errors are listened to, nothing else is set. */
export interface UsersClient {
  readonly client: unknown;
  close(): unknown;
}
export type MakeClient = (port: number) => UsersClient | Promise<UsersClient>;

/** Only what is used here: the types of two versions cannot be called as one. */
interface Loose {
  on(event: string, listener: () => void): unknown;
  connect(): Promise<unknown>;
  disconnect(): void;
  destroy(): unknown;
}
type Maker = (options: object) => unknown;
interface NodeRedis {
  readonly createClient: Maker;
  readonly createClientPool: Maker;
  readonly createCluster: Maker;
  readonly createSentinel: Maker;
}

function quiet(client: unknown): Loose {
  (client as Loose).on('error', () => undefined);
  return client as Loose;
}

/** ioredis connects by itself. */
function ioredis(make: (port: number) => unknown): MakeClient {
  return (port) => {
    const client = quiet(make(port));
    return { client, close: () => client.disconnect() };
  };
}

function nodeRedis(make: (port: number) => unknown): MakeClient {
  return async (port) => {
    const client = quiet(make(port));
    await client.connect();
    return { client, close: () => client.destroy() };
  };
}

/** Given before it is connected, as where Redis is away. */
function unconnected(make: (port: number) => unknown): MakeClient {
  return (port) => ({ client: quiet(make(port)), close: () => undefined });
}

const R5 = Redis5 as unknown as typeof Redis;
const C5 = Cluster5 as unknown as typeof Cluster;
const v5 = redis5 as unknown as NodeRedis;
const v6 = redis6 as unknown as NodeRedis;
const url = (port: number): string => `redis://${host}:${port}`;
const sentinels = (port: number): object => ({ name: 'mymaster', sentinelRootNodes: [{ host, port }] });

export const singleClients: readonly (readonly [name: string, make: MakeClient])[] = [
  ['ioredis 6', ioredis((port) => new Redis(port, host))],
  ['ioredis 5', ioredis((port) => new R5(port, host))],
  ['redis 6', nodeRedis((port) => v6.createClient({ url: url(port) }))],
  ['redis 5', nodeRedis((port) => v5.createClient({ url: url(port) }))],
  ['redis 6 pool', nodeRedis((port) => v6.createClientPool({ url: url(port) }))],
  ['redis 5 pool', nodeRedis((port) => v5.createClientPool({ url: url(port) }))],
  [
    'glide',
    async (port) => {
      const client = await GlideClient.createClient({ addresses: [{ host, port }] });
      return { client, close: () => client.close() };
    },
  ],
];

export const clusterClients: readonly (readonly [name: string, make: MakeClient])[] = [
  ['ioredis 6 Cluster', ioredis((port) => new Cluster([{ host, port }]))],
  ['ioredis 5 Cluster', ioredis((port) => new C5([{ host, port }]))],
  ['redis 6 cluster', nodeRedis((port) => v6.createCluster({ rootNodes: [{ url: url(port) }] }))],
  ['redis 5 cluster', nodeRedis((port) => v5.createCluster({ rootNodes: [{ url: url(port) }] }))],
  [
    'glide cluster',
    async (port) => {
      const client = await GlideClusterClient.createClient({ addresses: [{ host, port }] });
      return { client, close: () => client.close() };
    },
  ],
];

export const sentinelClients: readonly (readonly [name: string, make: MakeClient])[] = [
  ['ioredis 6 Sentinel', ioredis((port) => new Redis({ sentinels: [{ host, port }], name: 'mymaster' }))],
  ['ioredis 5 Sentinel', ioredis((port) => new R5({ sentinels: [{ host, port }], name: 'mymaster' }))],
  ['redis 6 sentinel', nodeRedis((port) => v6.createSentinel(sentinels(port)))],
  ['redis 5 sentinel', nodeRedis((port) => v5.createSentinel(sentinels(port)))],
];

/** Clients that may be made, and given to a limiter, while their Redis is away. */
export const earlyClients: readonly (readonly [name: string, make: MakeClient])[] = [
  ['ioredis 6', ioredis((port) => new Redis(port, host))],
  ['ioredis 5', ioredis((port) => new R5(port, host))],
  ['ioredis 6 Cluster', ioredis((port) => new Cluster([{ host, port }]))],
  ['redis 6', unconnected((port) => v6.createClient({ url: url(port) }))],
  ['redis 5', unconnected((port) => v5.createClient({ url: url(port) }))],
  ['redis 6 cluster', unconnected((port) => v6.createCluster({ rootNodes: [{ url: url(port) }] }))],
  ['redis 5 cluster', unconnected((port) => v5.createCluster({ rootNodes: [{ url: url(port) }] }))],
];
