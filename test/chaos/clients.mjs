import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster, createSentinel } from 'redis';

const host = '127.0.0.1';
const url = (port) => `redis://${host}:${port}`;

const makers = {
  ioredis: {
    single: ({ port }) => new Redis({ host, port }),
    sentinel: ({ port, name }) => new Redis({ sentinels: [{ host, port }], name }),
    cluster: ({ ports }) => new Cluster(ports.map((port) => ({ host, port }))),
  },
  'node-redis': {
    single: ({ port }) => createClient({ url: url(port) }),
    sentinel: ({ port, name }) => createSentinel({ name, sentinelRootNodes: [{ host, port }] }),
    cluster: ({ ports }) => createCluster({ rootNodes: ports.map((port) => ({ url: url(port) })) }),
  },
};

/** The app's own client, as an app would make it; Headgate works on a duplicate. Its own errors are the app's to hear. */
export function openClient(kind, connect) {
  const client = makers[kind][connect.topology](connect);
  client.on('error', () => undefined);
  if (kind === 'node-redis') client.connect().catch(() => undefined);
  return { client, close: () => (kind === 'node-redis' ? client.destroy() : client.disconnect()) };
}
