import { describe, expect, it } from 'vitest';
import { startRedis } from '../../../test/support/redis.js';
import { later, start, type Started } from './support/service.js';

const rules = `
version: 1
rules:
  - { name: one, limit: { fixedWindow: { limit: 1, window: 1h } } }
  - { name: lot, limit: { fixedWindow: { limit: 1000, window: 1h } } }
`;
const soon = { timeout: 10_000, interval: 50 };
const secret = 'shared by all servers of a fleet';

async function redis() {
  const server = await startRedis();
  later(server.kill);
  return server;
}

async function metric({ get }: Started, name: string): Promise<number | undefined> {
  const { text } = await get('/metrics');
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

const ready = async ({ get }: Started): Promise<void> => expect.poll(async () => (await get('/readyz')).status, soon).toBe(200);

describe('metrics of the limiter', () => {
  it('count refusals by notes, and the notes that are kept', async () => {
    const { url } = await redis();
    const service = await start({ rules, redis: url, secret });
    await ready(service);
    for (let i = 0; i < 5; i += 1) await service.post('/v1/check', { rule: 'one', key: 'k' });
    // The second was refused by Redis, and those after it by the note of that.
    expect(await metric(service, 'headgate_noted_total')).toBe(3);
    expect(await metric(service, 'headgate_notes')).toBe(1);
    expect(await metric(service, 'headgate_noted_total')).toBe(3);
  });

  it('count what a lease decides, at no call to Redis', async () => {
    const { url } = await redis();
    const leased = 'version: 1\nrules:\n  - { name: hot, mode: lease, limit: { fixedWindow: { limit: 100000, window: 1d } } }\n';
    const service = await start({ rules: leased, redis: url, secret });
    await ready(service);
    for (let i = 0; i < 100; i += 1) {
      const { json } = await service.post('/v1/check', { rule: 'hot', key: 'k' });
      expect(json).toMatchObject({ allowed: true, decision: { source: 'lease' } });
    }
    expect(await metric(service, 'headgate_local_total')).toBe(100);
    expect(await metric(service, 'headgate_local_keys')).toBe(1);
  });

  it('show no notes where there are none to be', async () => {
    const { url } = await redis();
    const service = await start({ rules, redis: url, secret, env: { HEADGATE_NOTES: '0' } });
    await ready(service);
    for (let i = 0; i < 5; i += 1) await service.post('/v1/check', { rule: 'one', key: 'k' });
    expect([await metric(service, 'headgate_noted_total'), await metric(service, 'headgate_notes')]).toEqual([0, 0]);
  });

  it('show the fleet as Redis counts it, and as it was set until then', async () => {
    const { url } = await redis();
    const services = await Promise.all([1, 2, 3].map(() => start({ rules, redis: url, secret })));
    await expect.poll(() => metric(services[0]!, 'headgate_fleet_size'), soon).toBe(3);
    const alone = await start({ rules, redis: 'redis://127.0.0.1:1', secret, flags: ['--fleet-size', '7'] });
    expect(await metric(alone, 'headgate_fleet_size')).toBe(7);
  });

  it('show each shard by its name, budgets that owe while one is away, and give-backs that failed', async () => {
    const [a, b] = [await redis(), await redis()];
    const service = await start({ rules, redis: [`a=${a.url}`, `b=${b.url}`], secret });
    await ready(service);
    const shard = (name: string) => metric(service, `headgate_shard_available{shard="${name}"}`);
    const check = async (key: string) => (await service.post('/v1/check', { rule: 'lot', key })).json.decision;
    const keys = Array.from({ length: 30 }, (_, i) => `key-${i}`);
    const ids = await Promise.all(keys.map(async (key) => (await check(key)).id as string));
    expect([await shard('a'), await shard('b')]).toEqual([1, 1]);
    expect(await metric(service, 'headgate_budgets_owing')).toBe(0);

    await b.kill();
    for (let i = 0; i < 3; i += 1) for (const key of keys) await check(key);
    expect([await shard('a'), await shard('b')]).toEqual([1, 0]);
    const owing = await metric(service, 'headgate_budgets_owing');
    expect(owing).toBeGreaterThan(0);
    expect(owing).toBeLessThan(keys.length);
    expect(await metric(service, 'headgate_unreturned_total')).toBe(0);
    for (const id of ids) await service.post('/v1/refund', { id });
    expect(await metric(service, 'headgate_unreturned_total')).toBe(owing);

    await b.restart();
    await expect
      .poll(async () => [(await Promise.all(keys.map(check))).some(({ degraded }) => degraded), await shard('b')], soon)
      .toEqual([false, 1]);
    await expect.poll(() => metric(service, 'headgate_budgets_owing'), soon).toBe(0);
  });

  it('call a Redis without a name "store", and have no shard where counters are in this process', async () => {
    const { url } = await redis();
    const shared = await start({ rules, redis: url, secret });
    expect(await metric(shared, 'headgate_shard_available{shard="store"}')).toBe(1);
    const own = await start({ rules });
    expect((await own.get('/metrics')).text).not.toMatch(/^headgate_shard_available\{/m);
    expect(await metric(own, 'headgate_fleet_size')).toBe(1);
  });
});
