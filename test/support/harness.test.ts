import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { startCluster } from './cluster.js';
import { monitor } from './monitor.js';
import { startProxy } from './proxy.js';
import { startRedis, type RedisServer } from './redis.js';
import { startSentinel } from './sentinel.js';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

async function redis(): Promise<RedisServer> {
  const server = await startRedis();
  open.push(server.kill);
  return server;
}

describe('startRedis', () => {
  it('answers, forgets at a restart, and stays on its port', async () => {
    const server = await redis();
    expect(await server.command('SET', 'a', 1)).toBe('OK');
    expect(await server.command('GET', 'a')).toBe('1');
    await server.restart();
    expect(await server.command('GET', 'a')).toBeNull();
    await server.kill();
    await expect(server.command('PING')).rejects.toThrow();
  });

  it('pauses without closing, and stops while paused', async () => {
    const [server, other] = [await redis(), await redis()];
    server.pause();
    const late = server.command('PING');
    // Asked later, and answered first.
    expect(await Promise.race([late, other.command('ECHO', 'silence')])).toBe('silence');
    server.resume();
    expect(await late).toBe('PONG');
    server.pause();
    await server.stop();
  });
});

describe('startCluster', () => {
  it('serves all slots from three masters', async () => {
    const cluster = await startCluster({ masters: 3 });
    open.push(cluster.stop);
    expect(cluster.urls).toHaveLength(3);
    // Slots of "a", "b", "c": 15495, 3300, 7365.
    expect(await cluster.nodes[2]?.command('SET', 'a', 1)).toBe('OK');
    expect(await cluster.nodes[0]?.command('SET', 'b', 1)).toBe('OK');
    expect(await cluster.nodes[1]?.command('SET', 'c', 1)).toBe('OK');
    await expect(cluster.nodes[0]?.command('GET', 'a')).rejects.toThrow(/^MOVED 15495/);
  });
});

describe('startSentinel', () => {
  it('names its master, and the replica once the master is killed', { timeout: 30_000 }, async () => {
    const setup = await startSentinel();
    open.push(setup.stop);
    expect(await setup.masterPort()).toBe(setup.master.port);
    await setup.master.kill();
    await expect.poll(setup.masterPort, { timeout: 20_000 }).toBe(setup.replica.port);
  });
});

describe('startProxy', () => {
  async function behindProxy() {
    const server = await redis();
    const proxy = await startProxy(server.port);
    open.push(proxy.close);
    const client = new Redis(proxy.port, { retryStrategy: () => 20, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 });
    client.on('error', () => undefined);
    open.push(() => client.disconnect());
    await client.ping();
    return { server, proxy, client };
  }

  it('destroys the connection after the request ran and before its reply', async () => {
    const { server, proxy, client } = await behindProxy();
    const cut = proxy.cutReplies('incr');
    await expect(client.incr('n')).rejects.toThrow();
    await cut;
    expect(await server.command('GET', 'n')).toBe('1');
    await expect.poll(() => client.status).toBe('ready');
    expect(await client.incr('n')).toBe(2);
    expect(proxy.seen().connections).toBe(2);
  });

  it('holds replies back, and refuses and accepts connections', async () => {
    const { server, proxy, client } = await behindProxy();
    proxy.pauseReplies();
    const late = client.incr('n');
    await expect.poll(() => server.command('GET', 'n')).toBe('1');
    // Redis has replied: were that not held, it would be here before the answer to what is asked only now.
    expect(await Promise.race([late, server.command('ECHO', 'held')])).toBe('held');
    proxy.resumeReplies();
    expect(await late).toBe(1);
    proxy.refuse();
    await expect.poll(() => client.status).not.toBe('ready');
    proxy.accept();
    await expect.poll(() => client.status).toBe('ready');
  });
});

describe('startProxy, asked to be slow', () => {
  it('delays replies, keeps their order, and is quick again', async () => {
    const server = await redis();
    const proxy = await startProxy(server.port);
    open.push(proxy.close);
    const client = new Redis(proxy.port);
    open.push(() => client.disconnect());
    await client.ping();
    proxy.delayReplies(100);
    const began = performance.now();
    const late = client.incr('n').then((n) => [n, performance.now() - began]);
    await expect.poll(() => server.command('GET', 'n')).toBe('1');
    proxy.delayReplies(0);
    // Asked later, it may not overtake.
    expect(await Promise.race([late, client.incr('n')])).toEqual([1, expect.any(Number)]);
    proxy.delayReplies(100);
    const again = performance.now();
    await client.ping();
    expect(performance.now() - again).toBeGreaterThan(95);
  });
});

describe('monitor', () => {
  it('counts what clients sent, not what scripts called', async () => {
    const server = await redis();
    const watch = await monitor(server.port);
    open.push(watch.stop);
    await server.command('SET', 'a', 1);
    await server.command('EVAL', "return redis.call('SET', KEYS[1], 2)", 1, 'b');
    expect(await watch.count('SET')).toBe(1);
    expect(await watch.count('EVAL')).toBe(1);
    await watch.clear();
    expect(await watch.flush()).toEqual([]);
  });
});
