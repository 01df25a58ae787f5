import { GlideClient, GlideClusterClient, Logger } from '@valkey/valkey-glide';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
import * as redis6 from 'redis';
import * as redis5 from 'redis5';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startCluster, type RedisCluster } from '../../../test/support/cluster.js';
import { startProxy } from '../../../test/support/proxy.js';
import { freePort, host, startRedis, type RedisServer } from '../../../test/support/redis.js';
import { startSentinel, type SentinelSetup } from '../../../test/support/sentinel.js';
import { ConfigError } from '../src/errors.js';
import type { RedisAdapter } from '../src/stores/redis/adapters/adapter.js';
import { resolveAdapter } from '../src/stores/redis/adapters/resolve.js';

Logger.init('off');

const unhandled: unknown[] = [];
const record = (reason: unknown): void => void unhandled.push(reason);
let single: RedisServer;
let cluster: RedisCluster;
let sentinel: SentinelSetup;
beforeAll(async () => {
  process.on('unhandledRejection', record);
  [single, cluster, sentinel] = await Promise.all([startRedis(), startCluster({ masters: 3 }), startSentinel()]);
}, 30_000);
afterAll(async () => {
  await Promise.all([single.kill(), cluster.stop(), sentinel.stop()]);
  process.off('unhandledRejection', record);
  expect(unhandled).toEqual([]);
});

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** A user's client: how it is asked something, and how it is closed. */
interface Users {
  client: unknown;
  ping(): Promise<unknown>;
  close(): unknown;
}
type Make = (port: number) => Users | Promise<Users>;
const quiet = <T extends { on(event: 'error', listener: () => void): unknown }>(client: T): T => {
  client.on('error', () => undefined);
  return client;
};

// Options that a user may well have set, and that would break counting or the shape of replies.
const hostile = { keyPrefix: 'theirs:', stringNumbers: true, lazyConnect: true, enableAutoPipelining: true, commandTimeout: 1 };
const ioredis = (R: typeof Redis | typeof Redis5): Make => (port) => {
  const client = quiet(new (R as typeof Redis)({ host, port, ...hostile }));
  return { client, ping: () => client.duplicate({ commandTimeout: 1000 }).call('PING'), close: () => client.disconnect() };
};
