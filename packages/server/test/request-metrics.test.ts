import { connect } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { startRedis } from '../../../test/support/redis.js';
import { ask, later, start, type Started } from './support/service.js';

const rules = `
version: 1
rules:
  - { name: ten, limit: { fixedWindow: { limit: 10, window: 1h } } }
`;
const soon = { timeout: 10_000, interval: 50 };

async function samples({ get }: Started, name: string): Promise<Record<string, number>> {
  const { text } = await get('/metrics');
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return Object.fromEntries(
    lines.map((line) => [line.slice(name.length, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

describe('metrics of requests', () => {
  it('count by the pattern of the route and the class of the status, and unknown paths as one', async () => {
    const service = await start({ rules });
    await service.post('/v1/check', { rule: 'ten', key: 'k' });
    await service.post('/v1/check', { rule: 'none', key: 'k' });
    await service.get('/v1/quotas/somebody');
    for (let i = 0; i < 50; i += 1) await ask(`${service.url}/made/up/${i}?a=${i}`, { method: i % 2 === 0 ? 'GET' : 'PROPFIND' });
    expect(await samples(service, 'headgate_http_requests_total')).toEqual({
      '{route="/v1/check",status="2xx"}': 1,
      '{route="/v1/check",status="4xx"}': 1,
      '{route="/v1/quotas/:key",status="2xx"}': 1,
      '{route="(none)",status="4xx"}': 50,
    });
    expect(await samples(service, 'headgate_decision_duration_seconds_count')).toEqual({ '{route="/v1/check"}': 1 });
  });

  it('are in flight until they are answered, or their client has gone', async () => {
    const redis = await startRedis();
    later(redis.kill);
    const service = await start({ rules, redis: redis.url, deadline: '1s' });
    await expect.poll(async () => (await service.get('/readyz')).status, soon).toBe(200);
    const inFlight = async () => (await samples(service, 'headgate_http_requests_in_flight'))[''];
    // The request that asks is one.
    expect(await inFlight()).toBe(1);
    redis.pause();
    const body = '{"rule":"ten","key":"k"}';
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(`POST /v1/check HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await expect.poll(inFlight, soon).toBe(2);
    socket.destroy();
    await expect.poll(inFlight, soon).toBe(1);
    redis.resume();
    expect(await samples(service, 'headgate_http_requests_total')).toMatchObject({ '{route="/v1/check",status="4xx"}': 1 });
  });
});

describe('metrics of decisions', () => {
  it('count checks that pass with the last fifth of their budget', async () => {
    const service = await start({ rules });
    for (let i = 0; i < 7; i += 1) await service.post('/v1/check', { rule: 'ten', key: 'k' });
    expect(await samples(service, 'headgate_near_limit_total')).toEqual({ '{rule="ten"}': 0 });
    for (let i = 0; i < 10; i += 1) await service.post('/v1/check', { rule: 'ten', key: 'k' });
    // The eighth, ninth and tenth; what was refused is counted elsewhere.
    expect(await samples(service, 'headgate_near_limit_total')).toEqual({ '{rule="ten"}': 3 });
  });
});

describe('metrics of Redis', () => {
  it('tell how long its calls take, by shard, and why it did not answer', async () => {
    const redis = await startRedis();
    later(redis.kill);
    const service = await start({ rules, redis: redis.url, deadline: '200ms' });
    await expect.poll(async () => (await service.get('/readyz')).status, soon).toBe(200);
    await service.post('/v1/check', { rule: 'ten', key: 'k' });
    expect(await samples(service, 'headgate_store_call_duration_seconds_count')).toEqual({ '{shard="store",result="ok"}': 1 });
    const missed = () => samples(service, 'headgate_store_missed_total');
    expect(await missed()).toEqual({ '{why="late"}': 0, '{why="failed"}': 0, '{why="unasked"}': 0 });
    redis.pause();
    await service.post('/v1/check', { rule: 'ten', key: 'k' });
    expect(await missed()).toEqual({ '{why="late"}': 1, '{why="failed"}': 0, '{why="unasked"}': 0 });
    redis.resume();
    await redis.kill();
    for (let i = 0; i < 6; i += 1) await service.post('/v1/check', { rule: 'ten', key: 'k' });
    expect((await missed())['{why="unasked"}']).toBeGreaterThan(0);
  });
});
