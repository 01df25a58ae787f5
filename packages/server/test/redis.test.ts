import { expect, describe, it } from 'vitest';
import { startRedis } from '../../../test/support/redis.js';
import { startCluster } from '../../../test/support/cluster.js';
import { startSentinel } from '../../../test/support/sentinel.js';
import { later, start } from './support/service.js';

const secret = 'shared by all servers of a fleet';
const rules = `
version: 1
rules:
  - { name: five, match: { path: /five }, key: [apiKey], limit: { fixedWindow: { limit: 5, window: 1h } } }
  - { name: exports, limit: { concurrency: { limit: 1, expires: 1m } } }
  - { name: closed, match: { path: /closed }, key: ["*"], whenUnavailable: refuse, limit: { fixedWindow: { limit: 5, window: 1h } } }
  - { name: open, whenUnavailable: allow, limit: { fixedWindow: { limit: 1, window: 1h } } }
`;

const soon = { timeout: 5000, interval: 20 };

async function redis() {
  const server = await startRedis();
  later(server.kill);
  return server;
}

describe('several servers over one Redis', () => {
  it("hold one limit, and take each other's ids back", async () => {
    const { url } = await redis();
    const servers = await Promise.all([1, 2, 3].map(() => start({ rules, redis: url, secret })));
    for (const { get } of servers) await expect.poll(async () => (await get('/readyz')).status, soon).toBe(200);
    const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => servers[i % 3]!.post('/v1/check', { rule: 'five', key: 'k' })));
    expect(answers.filter(({ json }) => json.allowed)).toHaveLength(5);
    expect(answers.every(({ json }) => !json.decision.degraded)).toBe(true);

    const { id } = answers.find(({ json }) => json.allowed)!.json.decision;
    const refunds = await Promise.all(servers.map(({ post }) => post('/v1/refund', { id })));
    expect(refunds.map(({ json }) => json.returned).sort()).toEqual([0, 0, 1]);

    const held = (await servers[0]!.post('/v1/check', { rule: 'exports', key: 'k' })).json.decision.id;
    expect((await servers[1]!.post('/v1/extend', { id: held })).json).toEqual({ extended: true });
    expect((await servers[2]!.post('/v1/release', { id: held })).json).toEqual({ released: true });
    expect((await servers[0]!.post('/v1/release', { id: held })).json).toEqual({ released: false });
  });

  it('works through a cluster', { timeout: 60_000 }, async () => {
    const cluster = await startCluster({ masters: 3 });
    later(cluster.stop);
    const { get, post } = await start({
      rules,
      redis: `redis+cluster://${cluster.nodes.map(({ host, port }) => `${host}:${port}`).join(',')}`,
    });
    await expect.poll(async () => (await get('/readyz')).status, soon).toBe(200);
    for (const key of ['a', 'b', 'c']) {
      const { json } = await post('/v1/check', { rule: 'five', key });
      expect(json).toMatchObject({ allowed: true, decision: { source: 'store', degraded: false } });
    }
  });

  it('works through a sentinel', { timeout: 60_000 }, async () => {
    const { sentinel, name, stop } = await startSentinel();
    later(stop);
    const { get, post } = await start({ rules, redis: `redis+sentinel://${sentinel.host}:${sentinel.port}/${name}` });
    await expect.poll(async () => (await get('/readyz')).status, soon).toBe(200);
    expect((await post('/v1/check', { rule: 'five', key: 'k' })).json).toMatchObject({ allowed: true, decision: { degraded: false } });
  });
});

describe('a server whose Redis is away', () => {
  it('starts not ready, answers by each rule, and is ready when Redis comes (case 37)', async () => {
    const server = await redis();
    await server.stop();
    const { get, post } = await start({ rules, redis: server.url, secret });
    const notReady = await get('/readyz');
    expect([notReady.status, notReady.headers['content-type'], (await get('/healthz')).status]).toEqual([
      503,
      'application/problem+json',
      200,
    ]);
    const check = async (rule: string) => (await post('/v1/check', { rule, key: 'k' })).json;
    expect(await check('five')).toMatchObject({ allowed: true, decision: { degraded: true, source: 'fallback' } });
    expect(await check('closed')).toMatchObject({ allowed: false, decision: { degraded: true, reason: 'store-unavailable' } });
    expect(await check('open')).toMatchObject({ allowed: true, decision: { degraded: true, reason: 'store-unavailable' } });
    expect((await get('/metrics')).text).toContain('headgate_degraded_total 3');

    await server.restart();
    await expect.poll(async () => (await get('/readyz')).status, soon).toBe(200);
    expect(await check('five')).toMatchObject({ allowed: true, decision: { degraded: false, source: 'store' } });
  });

  it('invents no numbers (case 36), and refuses at the gate with 503', async () => {
    const server = await redis();
    await server.stop();
    const { get, post } = await start({ rules, redis: server.url, secret });
    const { headers } = await post('/v1/check', { rule: 'five', key: 'k' });
    expect(headers).not.toHaveProperty('ratelimit');
    const refused = await get('/v1/gate/closed');
    expect([refused.status, refused.headers['content-type'], refused.headers['ratelimit']]).toEqual([
      503,
      'application/problem+json',
      undefined,
    ]);
    expect(refused.json['violated-policies']).toEqual(['closed']);
    const asEmpty = await get('/v1/gate/closed?refuse=403');
    expect([asEmpty.status, asEmpty.headers['x-headgate-status'], asEmpty.headers['content-length']]).toEqual([403, '503', '0']);
  });

  it('goes on when Redis goes and comes back', async () => {
    const server = await redis();
    const { get, post } = await start({ rules, redis: server.url, secret });
    await expect.poll(async () => (await get('/readyz')).status, soon).toBe(200);
    await server.kill();
    await expect.poll(async () => (await get('/readyz')).status, soon).toBe(503);
    const optional = await get('/readyz?store=optional');
    expect([optional.status, optional.json]).toEqual([
      200,
      expect.objectContaining({ status: 'ready', why: expect.any(String) as string }),
    ]);
    expect((await get('/readyz?store=away')).json.errors).toEqual([{ pointer: '/store', detail: expect.any(String) as string }]);
    expect((await post('/v1/check', { rule: 'open', key: 'k' })).json.allowed).toBe(true);
    await server.restart();
    await expect.poll(async () => (await get('/readyz')).status, soon).toBe(200);
  });
});
