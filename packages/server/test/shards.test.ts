import { describe, expect, it } from 'vitest';
import { startRedis, type RedisServer } from '../../../test/support/redis.js';
import { later, start, type Started } from './support/service.js';

const rules = `
version: 1
rules:
  - { name: five, match: { path: /five }, key: [apiKey], limit: { fixedWindow: { limit: 5, window: 1h } } }
  - { name: closed, match: { path: /closed }, key: [apiKey], whenUnavailable: refuse, limit: { fixedWindow: { limit: 50, window: 1h } } }
`;

const soon = { timeout: 5000, interval: 20 };
const keys = Array.from({ length: 40 }, (_, i) => `key-${i}`);

/** Servers by name. */
async function fleet<Name extends string>(...names: readonly Name[]) {
  const started = await Promise.all(names.map(async (name) => [name, await startRedis()] as const));
  for (const [, server] of started) later(server.kill);
  const servers = Object.fromEntries(started) as Record<Name, RedisServer>;
  return { servers, redis: started.map(([name, { url }]) => `${name}=${url}`) };
}

const ready = async ({ get }: Started): Promise<void> => expect.poll(async () => (await get('/readyz')).status, soon).toBe(200);

/** Which of the keys have a counter of this rule on a server. */
async function held({ command }: RedisServer, rule: string): Promise<string[]> {
  const found = (await command('KEYS', `*:${rule}`)) as string[];
  return keys.filter((key) => found.some((name) => name.includes(`{${key}}`)));
}

describe('several Redis by name', () => {
  it('share the keys, and hold one limit over all servers of the service', async () => {
    const { servers, redis } = await fleet('a', 'b');
    const services = await Promise.all([1, 2].map(() => start({ rules, redis })));
    for (const service of services) await ready(service);
    const answers = await Promise.all(
      keys.flatMap((key) => Array.from({ length: 8 }, (_, i) => services[i % 2]!.post('/v1/check', { rule: 'five', key }))),
    );
    expect(answers.filter(({ json }) => json.allowed)).toHaveLength(5 * keys.length);
    const [onA, onB] = [await held(servers.a, 'five'), await held(servers.b, 'five')];
    expect([...onA, ...onB].sort()).toEqual([...keys].sort());
    expect(Math.min(onA.length, onB.length)).toBeGreaterThan(5);
  });

  it('take parts by their weights; one of weight 0 is not even connected to', async () => {
    const { servers, redis } = await fleet('a', 'b', 'gone');
    const service = await start({ rules, redis, flags: ['--weight', 'a=4', '--weight', 'gone=0'] });
    await ready(service);
    for (const key of keys) expect((await service.post('/v1/check', { rule: 'five', key })).json.decision.degraded).toBe(false);
    const [onA, onB] = [await held(servers.a, 'five'), await held(servers.b, 'five')];
    expect(onA.length + onB.length).toBe(keys.length);
    expect(onA.length).toBeGreaterThan(2 * onB.length);
    const stats = String(await servers.gone.command('INFO', 'stats'));
    const before = Number(/total_connections_received:(\d+)/.exec(stats)?.[1]);
    // Besides the harness's own: one to see it start, one for this very question.
    expect(before).toBeLessThanOrEqual(2);
    expect((await service.get('/metrics')).text).not.toContain('shard="gone"');
    await service.app.close();
  });

  it('may be a single one', async () => {
    const { redis } = await fleet('only');
    const service = await start({ rules, redis });
    await ready(service);
    expect((await service.post('/v1/check', { rule: 'five', key: 'k' })).json.decision).toMatchObject({ source: 'store', degraded: false });
    expect((await service.get('/readyz')).json).toMatchObject({ status: 'ready', unavailable: [] });
  });
});

describe('one dead of two shards', () => {
  const deadlineMs = 400;
  /** Time to travel and to be served on a busy machine comes on top of the deadline. */
  const slackMs = 250;

  async function timed<T>(call: () => Promise<T>): Promise<T> {
    const since = performance.now();
    const answer = await call();
    expect(performance.now() - since).toBeLessThan(deadlineMs + slackMs);
    return answer;
  }

  for (const end of ['kill', 'pause'] as const) {
    it(`leaves the other's keys alone; its own are answered in time, by each rule (${end})`, async () => {
      const { servers, redis } = await fleet('a', 'b');
      const service = await start({ rules, redis, deadline: `${deadlineMs}ms` });
      await ready(service);
      const { get, post } = service;
      for (const key of keys) for (const rule of ['five', 'closed']) await post('/v1/check', { rule, key });
      const [onA, onB] = [await held(servers.a, 'five'), await held(servers.b, 'five')];
      await servers.b[end]();

      const check = async (rule: string, key: string) => timed(() => post('/v1/check', { rule, key }));
      for (const key of onB.slice(0, 5)) {
        const local = await check('five', key);
        expect([local.status, local.json]).toMatchObject([200, { allowed: true, decision: { degraded: true, source: 'fallback' } }]);
        const refused = await check('closed', key);
        expect([refused.status, refused.json]).toMatchObject([200, { allowed: false, decision: { reason: 'store-unavailable' } }]);
        const gate = (path: string) => timed(() => get(`/v1/gate${path}`, { headers: { 'x-api-key': key } }));
        expect([(await gate('/five')).status, (await gate('/closed')).status]).toEqual([204, 503]);
      }
      for (const key of onA) {
        const { status, json } = await check('closed', key);
        expect([status, json]).toMatchObject([200, { allowed: true, decision: { degraded: false, source: 'store' } }]);
      }
      const over = { checks: [onA[0], onB[0]].map((key) => ({ rule: 'closed', key })) };
      const both = await timed(() => post('/v1/check', over));
      expect([both.status, both.json.allowed]).toEqual([200, false]);

      if (end === 'kill') await servers.b.restart();
      else servers.b.resume();
      await expect.poll(async () => (await check('closed', onB[0]!)).json.decision.degraded, soon).toBe(false);
    });
  }
});

describe('/readyz over several shards', () => {
  it('is ready though one has not answered since the start, and names it', async () => {
    const { servers, redis } = await fleet('a', 'b');
    await servers.b.stop();
    const { get } = await start({ rules, redis });
    await expect.poll(async () => (await get('/readyz')).json, soon).toMatchObject({ status: 'ready', unavailable: ['b'] });
    await servers.b.restart();
    await expect.poll(async () => (await get('/readyz')).json.unavailable, soon).toEqual([]);
  });

  it('stays ready while any answers, tells which do not, and is not ready when none does', async () => {
    const { servers, redis } = await fleet('a', 'b', 'c');
    const { get } = await start({ rules, redis });
    const now = async () => {
      const { status, json } = await get('/readyz');
      return [status, json.unavailable];
    };
    await expect.poll(now, soon).toEqual([200, []]);
    await servers.b.kill();
    // Connected, but silent.
    servers.c.pause();
    await expect.poll(now, soon).toEqual([200, ['b', 'c']]);
    const since = performance.now();
    await now();
    // What asks, a second by default, must not give up over one silent shard.
    expect(performance.now() - since).toBeLessThan(1000);
    await servers.a.kill();
    await expect.poll(now, soon).toEqual([503, ['a', 'b', 'c']]);
    expect((await get('/readyz')).json.detail).toBe('no shard answers: a, b, c');
    servers.c.resume();
    await expect.poll(now, soon).toEqual([200, ['a', 'b']]);
  });
});
