import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRedis, type RedisServer } from '../../../test/support/redis.js';
import { opened } from '../src/opened.js';
import { headgate, urlOf } from './support/command.js';
import { getting, raw, slowCheck } from './support/raw.js';
import { ask, later, start } from './support/service.js';
import { steadyLoad } from './support/load.js';

const soon = { timeout: 5000, interval: 10 };

describe('a server that is told to stop', () => {
  it('is not ready first, and answers for the time of --drain: what is in flight, and what is new', async () => {
    const { app, url, get } = await start({ flags: ['--drain', '400ms'] });
    const idle = await raw(url);
    idle.socket.write(getting('/healthz'));
    await idle.until(/"ok"/);
    const inFlight = await raw(url);
    const { head, body } = slowCheck();
    inFlight.socket.write(head);
    await sleep(50);

    const closed = app.close();
    expect((await get('/readyz')).status).toBe(503);
    expect((await get('/readyz?store=optional')).json.detail).toBe('the server is stopping');
    const fresh = await get('/healthz');
    expect([fresh.status, fresh.headers['connection']]).toEqual([200, 'close']);
    idle.socket.write(getting('/healthz'));
    inFlight.socket.write(body);
    await closed;
    for (const connection of [idle, inFlight]) {
      expect(await connection.closed).toBe('end');
      expect(connection.received()).toMatch(/HTTP\/1.1 200 OK\r\n[^]*connection: close\r\n/i);
    }
    await expect(get('/healthz')).rejects.toThrow(/ECONNREFUSED/);
  });

  it('answers a request that is still on its way when it takes no more connections', async () => {
    const { app, url } = await start();
    const { head, body } = slowCheck();
    const [late, idle] = [await raw(url), await raw(url)];
    late.socket.write(head);
    await sleep(50);
    const closed = app.close();
    await expect.poll(() => ask(`${url}/healthz`).catch(({ code }) => code), { interval: 1 }).toBe('ECONNREFUSED');
    // A connection on which nothing was sent yet: its first request comes now.
    idle.socket.write(getting('/healthz'));
    await idle.until(/"ok"/);
    late.socket.write(body);
    await closed;
    expect([await late.closed, late.received().slice(0, 15)]).toEqual(['end', 'HTTP/1.1 200 OK']);
    expect(await idle.closed).toBe('end');
  });

  it('cuts what takes longer than --stop-within', async () => {
    const { app, url } = await start({ flags: ['--stop-within', '600ms'] });
    const never = await raw(url);
    never.socket.write(slowCheck().head);
    await sleep(50);
    const since = performance.now();
    await app.close();
    expect(performance.now() - since).toBeGreaterThanOrEqual(590);
    await never.closed;
    expect(never.received()).toBe('');
  });

  it('resets nobody under load, whose connections are kept and in use', async () => {
    const run = headgate(['serve', '--http-port', '0', '--drain', '3s']);
    const url = await urlOf(run);
    const agent = new Agent({ keepAlive: true });
    later(() => agent.destroy());
    const load = steadyLoad({ urls: [url], agent, perSecond: 100, rule: 'search' });
    await sleep(500);
    run.child.kill('SIGTERM');
    // As a load balancer does that has noticed: nothing new, but what it has sent.
    await expect.poll(async () => (await ask(`${url}/readyz`)).status, soon).toBe(503);
    load.leave(url);
    expect(await run.code).toBe(0);
    const { asked, answered, failures } = await load.stop();
    expect(failures).toEqual([]);
    expect(answered).toBe(asked);
  });

  it('ends with 0; at a second signal at once, with 128 and the number of the signal', async () => {
    const run = headgate(['serve', '--http-port', '0', '--drain', '1m']);
    const url = await urlOf(run);
    run.child.kill('SIGTERM');
    await expect.poll(async () => (await ask(`${url}/readyz`)).status, soon).toBe(503);
    run.child.kill('SIGTERM');
    expect(await run.code).toBe(143);
  });
});

describe('what was opened', () => {
  it('is closed in reverse order, also if one fails or never ends', async () => {
    const closed: string[] = [];
    const faults: string[] = [];
    const all = opened((message) => faults.push(message));
    all.add('a', () => closed.push('a'));
    all.add('b', () => Promise.reject(new Error('it is stuck')));
    all.add('c', async () => void closed.push('c'));
    await all.closeAll();
    await all.closeAll();
    expect([closed, faults]).toEqual([['c', 'a'], ['b did not close: it is stuck']]);
  });

  describe('over Redis', () => {
    let redis: RedisServer;
    beforeAll(async () => {
      redis = await startRedis();
    });
    afterAll(() => redis.kill());

    it('leaves no connection when the start fails half way', async () => {
      const first = await start();
      const { port } = new URL(first.url);
      const clients = async () => Number(/connected_clients:(\d+)/.exec(String(await redis.command('INFO', 'clients')))?.[1]);
      const before = await clients();
      await expect(start({ redis: redis.url, flags: ['--http-port', port] })).rejects.toThrow(/EADDRINUSE/);
      await expect.poll(clients, soon).toBe(before);
    });
  });
});
