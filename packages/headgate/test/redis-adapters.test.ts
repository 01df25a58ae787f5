import { GlideClient, GlideClusterClient, Logger } from '@valkey/valkey-glide';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
import * as redis6 from 'redis';
import * as redis5 from 'redis5';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startCluster, type RedisCluster } from '../../../test/support/cluster.js';
import { startProxy } from '../../../test/support/proxy.js';
import { freePort, host, rawCommand, startRedis, type RedisServer } from '../../../test/support/redis.js';
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

/** A user's client: whether it still answers, and how it is closed. */
interface Users {
  readonly client: unknown;
  /** Undefined where the user never connects it. */
  readonly ping?: () => Promise<unknown>;
  close(): unknown;
}
type Make = (port: number) => Users | Promise<Users>;

/** Only what the tests use: the two versions' own types cannot be called as one. */
interface Loose {
  on(event: string, listener: () => void): unknown;
  call(command: string): Promise<unknown>;
  disconnect(): void;
  connect(): Promise<unknown>;
  destroy(): unknown;
  sendCommand(...args: unknown[]): Promise<unknown>;
}
type Anything = (...args: unknown[]) => unknown;
const quiet = (client: unknown): Loose => {
  (client as Loose).on('error', () => undefined);
  return client as Loose;
};

// What a user may well have set, and what would break counting or the shape of replies.
const hostile = { keyPrefix: 'theirs:', stringNumbers: true, enableAutoPipelining: true };

const ioredis =
  (R: typeof Redis | typeof Redis5, lazyConnect: boolean): Make =>
  (port) => {
    const client = quiet(new (R as typeof Redis)({ host, port, ...hostile, lazyConnect }));
    return { client, ...(!lazyConnect && { ping: () => client.call('PING') }), close: () => client.disconnect() };
  };
const ioredisCluster =
  (C: typeof Cluster | typeof Cluster5): Make =>
  (port) => {
    const client = quiet(new (C as typeof Cluster)([{ host, port }], { keyPrefix: 'theirs:', redisOptions: { stringNumbers: true } }));
    return { client, ping: () => client.call('PING'), close: () => client.disconnect() };
  };
const ioredisSentinel =
  (R: typeof Redis | typeof Redis5): Make =>
  (port) => {
    const client = quiet(new (R as typeof Redis)({ sentinels: [{ host, port }], name: 'mymaster', role: 'slave', lazyConnect: true }));
    return { client, close: () => client.disconnect() };
  };

interface NodeRedisModule {
  createClient: Anything;
  createClientPool: Anything;
  createCluster: Anything;
  createSentinel: Anything;
  RESP_TYPES: { NUMBER: number; BLOB_STRING: number };
}
const v5 = redis5 as unknown as NodeRedisModule;
const v6 = redis6 as unknown as NodeRedisModule;
const hostileMapping = (module: NodeRedisModule) => ({
  RESP: 3,
  commandOptions: { typeMapping: { [module.RESP_TYPES.NUMBER]: String, [module.RESP_TYPES.BLOB_STRING]: Buffer } },
});
const nodeRedis =
  (module: NodeRedisModule, connect: boolean): Make =>
  (port) => {
    const client = quiet(module.createClient({ url: `redis://${host}:${port}`, ...hostileMapping(module) }));
    const connected = connect ? client.connect() : Promise.resolve();
    connected.catch(() => undefined);
    return {
      client,
      ...(connect && { ping: async () => String(await client.sendCommand(['PING'])) }),
      close: () => connect && client.destroy(),
    };
  };
const nodeRedisPool =
  (module: NodeRedisModule): Make =>
  (port) => {
    const client = quiet(module.createClientPool({ url: `redis://${host}:${port}` }));
    client.connect().catch(() => undefined);
    return { client, ping: () => client.sendCommand(['PING']), close: () => client.destroy() };
  };
const nodeRedisCluster =
  (module: NodeRedisModule, connect: boolean): Make =>
  async (port) => {
    const client = quiet(module.createCluster({ rootNodes: [{ url: `redis://${host}:${port}` }], ...hostileMapping(module) }));
    if (connect) await client.connect();
    return {
      client,
      ...(connect && { ping: async () => String(await client.sendCommand('k', false, ['PING'])) }),
      close: () => connect && client.destroy(),
    };
  };
const nodeRedisSentinel =
  (module: NodeRedisModule, connect: boolean): Make =>
  (port) => {
    const client = quiet(module.createSentinel({ name: 'mymaster', sentinelRootNodes: [{ host, port }] }));
    const connected = connect ? client.connect() : Promise.resolve();
    connected.catch(() => undefined);
    return {
      client,
      ...(connect && { ping: () => connected.then(() => client.sendCommand(false, ['PING'])) }),
      close: () => connect && client.destroy(),
    };
  };
const glide: Make = async (port) => {
  const client = await GlideClient.createClient({ addresses: [{ host, port }], requestTimeout: 1000 });
  return { client, ping: () => client.customCommand(['PING']), close: () => client.close() };
};
const glideCluster: Make = async (port) => {
  const client = await GlideClusterClient.createClient({ addresses: [{ host, port }], requestTimeout: 1000 });
  return { client, ping: () => client.customCommand(['PING']), close: () => client.close() };
};

const singles: [string, Make][] = [
  ['ioredis 6', ioredis(Redis, false)],
  ['ioredis 6, never connected', ioredis(Redis, true)],
  ['ioredis 5', ioredis(Redis5, false)],
  ['redis 6', nodeRedis(v6, true)],
  ['redis 6, never connected', nodeRedis(v6, false)],
  ['redis 6 pool', nodeRedisPool(v6)],
  ['redis 5', nodeRedis(v5, true)],
  ['redis 5, never connected', nodeRedis(v5, false)],
  ['redis 5 pool', nodeRedisPool(v5)],
];
const clusters: [string, Make][] = [
  ['ioredis 6 Cluster', ioredisCluster(Cluster)],
  ['ioredis 5 Cluster', ioredisCluster(Cluster5)],
  ['redis 6 cluster', nodeRedisCluster(v6, true)],
  ['redis 6 cluster, never connected', nodeRedisCluster(v6, false)],
  ['redis 5 cluster', nodeRedisCluster(v5, true)],
  ['glide cluster', glideCluster],
];
const sentinels: [string, Make][] = [
  ['ioredis 6 Sentinel', ioredisSentinel(Redis)],
  ['ioredis 5 Sentinel', ioredisSentinel(Redis5)],
  ['redis 6 sentinel', nodeRedisSentinel(v6, true)],
  ['redis 6 sentinel, never connected', nodeRedisSentinel(v6, false)],
  ['redis 5 sentinel', nodeRedisSentinel(v5, true)],
];
const portOf = (kind: 'single' | 'cluster' | 'sentinel'): number =>
  kind === 'single' ? single.port : kind === 'sentinel' ? sentinel.sentinel.port : (cluster.nodes[0]?.port ?? 0);
const kinds: [string, 'single' | 'cluster' | 'sentinel', Make][] = [
  ...[...singles, ['glide', glide] as [string, Make]].map(([name, make]): [string, 'single', Make] => [name, 'single', make]),
  ...clusters.map(([name, make]): [string, 'cluster', Make] => [name, 'cluster', make]),
  ...sentinels.map(([name, make]): [string, 'sentinel', Make] => [name, 'sentinel', make]),
];

async function adapted(make: Make, port: number): Promise<{ users: Users; adapter: RedisAdapter }> {
  const users = await make(port);
  open.push(users.close);
  const adapter = resolveAdapter(users.client);
  open.push(() => adapter.close());
  return { users, adapter };
}
const settled = (adapter: RedisAdapter): Promise<void> => new Promise((resolve) => adapter.onceSettled(resolve));
const ready = (adapter: RedisAdapter): Promise<void> => expect.poll(() => adapter.state(), { interval: 5, timeout: 5000 }).toBe('ready');

const shapes = "return {1796007709123456, -3, 'x', false, {1, {'y'}}, KEYS[1]}";
const unknownSha = '0'.repeat(40);
const incr = "return redis.call('INCR', KEYS[1])";

describe.each(kinds)('%s', (_name, kind, make) => {
  it('gives plain numbers, strings and null, and the keys as they are', async () => {
    const { adapter } = await adapted(make, portOf(kind));
    await ready(adapter);
    expect(adapter.topology).toBe(kind === 'cluster' ? 'cluster' : 'single');
    expect(await adapter.send('EVAL', [shapes, '1', 'k'], 'k')).toEqual([1796007709123456, -3, 'x', null, [1, ['y']], 'k']);
  });

  it.each(['', 'a\r\n$5\r\nb', 'ключ', 'é€😀'])('sends arguments as they are: %j', async (text) => {
    const { adapter } = await adapted(make, portOf(kind));
    await ready(adapter);
    const replies = ['return {ARGV[1], ARGV[2]}', '1', 'k', text, 'last'];
    expect(await adapter.send('EVAL', replies, 'k')).toEqual([text, 'last']);
  });

  it('keeps the text of server errors', async () => {
    const { adapter } = await adapted(make, portOf(kind));
    await ready(adapter);
    await expect(adapter.send('EVALSHA', [unknownSha, '1', 'k'], 'k')).rejects.toThrow(/NOSCRIPT/);
    const wrong = "redis.call('SET', KEYS[1], 'x', 'PX', 100) return redis.call('LLEN', KEYS[1])";
    await expect(adapter.send('EVAL', [wrong, '1', 'k'], 'k')).rejects.toThrow(/WRONGTYPE/);
  });

  it('answers 200 keys at once, wherever they live, as soon as it is ready', async () => {
    const { adapter } = await adapted(make, portOf(kind));
    await settled(adapter);
    await ready(adapter);
    const keys = Array.from({ length: 200 }, (_, i) => `key-${i}`);
    const replies = await Promise.all(keys.map((key) => adapter.send('EVAL', ['return KEYS[1]', '1', key], key)));
    expect(replies).toEqual(keys);
  });

  it('closes what is its own, and leaves the client of the user open', async () => {
    const { users, adapter } = await adapted(make, portOf(kind));
    await ready(adapter);
    await adapter.close();
    expect(adapter.state()).toBe('down');
    await adapter.close();
    if (users.ping) expect(await users.ping()).toBe('PONG');
  });
});

describe.each(singles)('%s, and Redis is away', (name, make) => {
  it('constructs, says down, and uses a Redis that comes up later', async () => {
    const port = await freePort();
    const { adapter } = await adapted(make, port);
    expect(adapter.state()).toBe('connecting');
    await settled(adapter);
    expect(adapter.state()).toBe('down');
    await expect(adapter.send('PING', [], 'k')).rejects.toThrow();
    const server = await startRedis({ port });
    open.push(server.kill);
    const since = Date.now();
    await ready(adapter);
    // A pool's connection is found through the user's pool, at the pace of its own reconnect strategy.
    if (!name.includes('pool')) expect(Date.now() - since).toBeLessThan(1000);
    expect(await adapter.send('EVAL', [incr, '1', 'k'], 'k')).toBe(1);
  });

  it('notices a Redis that dies, fails at once, and is back within a second of its restart', async () => {
    const server = await startRedis();
    open.push(server.kill);
    const { adapter } = await adapted(make, server.port);
    await ready(adapter);
    const inFlight = adapter.send('EVAL', ["while true do redis.call('TIME') end", '1', 'k'], 'k');
    inFlight.catch(() => undefined);
    await server.kill();
    await expect(inFlight).rejects.toThrow();
    await expect.poll(() => adapter.state(), { interval: 5 }).toBe('down');
    const began = Date.now();
    await expect(adapter.send('PING', [], 'k')).rejects.toThrow();
    expect(Date.now() - began).toBeLessThan(50);
    await server.restart();
    const since = Date.now();
    await ready(adapter);
    expect(Date.now() - since).toBeLessThan(1000);
    expect(await adapter.send('EVAL', [incr, '1', 'k'], 'k')).toBe(1);
  });
});

/** A deployment whose clients all talk to Redis through a proxy. */
async function behindProxy(kind: 'single' | 'cluster' | 'sentinel') {
  if (kind === 'single') {
    const server = await startRedis();
    const proxy = await startProxy(server.port);
    open.push(server.kill, proxy.close);
    return { proxy, port: proxy.port, command: server.command };
  }
  if (kind === 'cluster') {
    const own = await startCluster({ masters: 1 });
    const [node] = own.nodes;
    if (!node) throw new Error('no node');
    const proxy = await startProxy(node.port);
    open.push(own.stop, proxy.close);
    await node.command('CONFIG', 'SET', 'cluster-announce-port', proxy.port);
    return { proxy, port: proxy.port, command: node.command };
  }
  const own = await startSentinel();
  const proxy = await startProxy(own.master.port);
  open.push(own.stop, proxy.close);
  await rawCommand(own.sentinel.port, ['SENTINEL', 'REMOVE', 'mymaster']);
  await rawCommand(own.sentinel.port, ['SENTINEL', 'MONITOR', 'mymaster', host, proxy.port, 1]);
  return { proxy, port: own.sentinel.port, command: own.master.command };
}

describe.each(kinds)('%s, and the connection is cut after the script ran', (_name, kind, make) => {
  it('rejects, and sends nothing again', { timeout: 20_000 }, async () => {
    const { proxy, port, command } = await behindProxy(kind);
    const { adapter } = await adapted(make, port);
    await ready(adapter);
    const cut = proxy.cutReplies('counted-key');
    await expect(adapter.send('EVAL', [incr, '1', 'counted-key'], 'counted-key')).rejects.toThrow();
    await cut;
    const marker = ['return 1', '1', 'counted-key'];
    await expect.poll(() => adapter.send('EVAL', marker, 'counted-key').catch(String), { timeout: 5000 }).toBe(1);
    // Given to the connection that is back: whatever a client sends again once it is back, Redis has executed before this.
    expect(await adapter.send('EVAL', marker, 'counted-key')).toBe(1);
    expect(await command('GET', 'counted-key')).toBe('1');
    // Of all calls, also those from scripts.
    expect(await command('INFO', 'commandstats')).toMatch(/^cmdstat_incr:calls=1,/m);
  });
});

describe('a master is killed and its replica promoted', () => {
  const works = (adapter: RedisAdapter, key: string): Promise<void> =>
    expect.poll(() => adapter.send('EVAL', ['return 1', '1', key], key).catch(() => 0), { interval: 20, timeout: 15_000 }).toBe(1);

  it.each(sentinels)('%s finds the new one', { timeout: 40_000 }, async (name, make) => {
    const own = await startSentinel();
    open.push(own.stop);
    const { adapter } = await adapted(make, own.sentinel.port);
    await ready(adapter);
    await own.master.kill();
    await expect.poll(() => own.masterPort(), { interval: 20, timeout: 15_000 }).toBe(own.replica.port);
    const since = Date.now();
    await works(adapter, 'k');
    if (process.env['HEADGATE_TIMINGS']) console.log(`${name}: in use ${Date.now() - since} ms after the promotion`);
  });

  // Not redis 5: it stays with the dead address.
  it.each(clusters.filter(([name]) => name !== 'redis 5 cluster'))('%s finds the new one', { timeout: 40_000 }, async (name, make) => {
    const own = await startCluster({ masters: 3, replicas: 1 });
    open.push(own.stop);
    const [first, , , replica] = own.nodes;
    if (!first || !replica) throw new Error('no nodes');
    const { adapter } = await adapted(make, own.nodes[1]?.port ?? 0);
    await ready(adapter);
    await works(adapter, 'b'); // slot 3300: the first node's
    await first.kill();
    await expect
      .poll(async () => String(await replica.command('INFO', 'replication')), { interval: 20, timeout: 15_000 })
      .toContain('role:master');
    const since = Date.now();
    await works(adapter, 'b');
    if (process.env['HEADGATE_TIMINGS']) console.log(`${name}: in use ${Date.now() - since} ms after the promotion`);
  });
});

describe('what cannot be used', () => {
  it.each([
    ['nothing', undefined, /got undefined/],
    ['an address', 'redis://localhost', /given to the client/],
    ['a promise', Promise.resolve({}), /await it first/],
    ['a class', Redis, /make an instance/],
    ['an object', { get: () => undefined }, /ioredis >= 5/],
    ['a pool that is not open', v6.createClientPool({}), /call its connect\(\) first/],
    ['a redis 5 sentinel that is not open', v5.createSentinel({ name: 'm', sentinelRootNodes: [{ host, port: 1 }] }), /connect\(\) first/],
  ])('%s throws a ConfigError with the mend', (_what, client, mend) => {
    const attempt = (): unknown => resolveAdapter(client);
    expect(attempt).toThrow(ConfigError);
    expect(attempt).toThrow(mend);
    expect(attempt).toThrow(expect.objectContaining({ code: 'HEADGATE_BAD_CLIENT' }));
  });
});
