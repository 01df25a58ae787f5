import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startRedis } from '../../../test/support/redis.js';
import { readDatabaseUrl } from '../src/database/address.js';
import { openDatabase } from '../src/database/open.js';
import { receiver } from './support/receiver.js';
import { ask, later, start, temporary, type Started, type Starting } from './support/service.js';

const rules = `
version: 1
rules:
  - name: monthly
    key: [account]
    limit: { quota: { limit: 100, period: month } }
    plans: { big: { quota: { limit: 1000, period: month } } }
  - { name: minute, limit: { fixedWindow: { limit: 1, window: 1h } } }
  - { name: leased, mode: lease, key: [account], limit: { quota: { limit: 10000, period: month } } }
`;
const secret = 'shared by all servers of a fleet';
const webhookSecret = 'shared with the receiver';

/** A service that tells a receiver, and what that was told. */
async function watching({ flags = [], ...more }: Starting = { rules, secret }) {
  const { received, url } = await receiver();
  const service = await start({ ...more, flags: ['--webhook', url, ...flags], env: { HEADGATE_WEBHOOK_SECRET: webhookSecret } });
  const told = (): unknown[] =>
    received.map(({ body }) => JSON.parse(body) as { data: { key: string; percent: number } }).map(({ data }) => [data.key, data.percent]);
  const ids = (): unknown[] => received.map(({ headers }) => headers['webhook-id']);
  return { ...service, told, ids };
}

const put = (url: string, body: unknown) =>
  ask(url, { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

async function metrics({ get }: Pick<Started, 'get'>, begin: string): Promise<Record<string, number>> {
  const { text } = await get('/metrics');
  const lines = text.split('\n').filter((line) => line.startsWith(begin));
  return Object.fromEntries(lines.map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]));
}

describe('a webhook about a quota', () => {
  it('is sent once when a settle charges more than was reserved', async () => {
    const { post, told } = await watching();
    const reserve = async (): Promise<string> =>
      (await post('/v1/reserve', { rule: 'monthly', key: 'ann', cost: 10 })).json.decision.id as string;
    const id = await reserve();
    await post('/v1/settle', { id, actual: 85 });
    await expect.poll(told).toEqual([['ann', 80]]);
    await post('/v1/settle', { id: await reserve(), actual: 400 });
    await post('/v1/check', { rule: 'monthly', key: 'ann' });
    await expect.poll(told).toEqual([
      ['ann', 80],
      ['ann', 100],
    ]);
  });

  it('is sent once when a bill sets what is used', async () => {
    const { url, post, told } = await watching();
    for (const used of [20, 85, 90, 10, 88, 100]) expect((await put(`${url}/v1/quotas/bob`, { rule: 'monthly', used })).status).toBe(200);
    await post('/v1/check', { rule: 'monthly', key: 'bob' });
    await expect.poll(told).toEqual([
      ['bob', 80],
      ['bob', 100],
    ]);
  });

  it('is sent when a smaller plan is used up already', async () => {
    const { post, told } = await watching();
    await post('/v1/check', { rule: 'monthly', key: 'eve', cost: 150, plan: 'big' });
    expect((await post('/v1/check', { rule: 'monthly', key: 'eve' })).json.allowed).toBe(false);
    await expect.poll(told).toEqual([
      ['eve', 80],
      ['eve', 100],
    ]);
  });

  it('is not sent for a check that was never counted, as another of its group refused', async () => {
    const { post, told } = await watching();
    const both = {
      checks: [
        { rule: 'minute', key: 'joe' },
        { rule: 'monthly', key: 'joe', cost: 81 },
      ],
    };
    await post('/v1/check', { rule: 'minute', key: 'joe' });
    for (let i = 0; i < 3; i += 1) expect((await post('/v1/check', both)).json.allowed).toBe(false);
    await post('/v1/check', { rule: 'monthly', key: 'joe', cost: 80 });
    await expect.poll(told).toEqual([['joe', 80]]);
  });

  it('has the same id from every server with the same secret, be the units leased; without it, by the secret of the webhook', async () => {
    const redis = await startRedis();
    later(redis.kill);
    const servers = [await watching({ rules, secret, redis: redis.url }), await watching({ rules, secret, redis: redis.url })];
    for (const { get } of servers) await expect.poll(async () => (await get('/readyz')).status, { timeout: 10_000 }).toBe(200);
    const isAllowed = async ({ post }: Started, cost: number): Promise<boolean> =>
      (await post('/v1/check', { rule: 'leased', key: 'kim', cost })).json.allowed as boolean;
    // Each server spends units that it took in advance.
    for (let i = 0; i < 250; i += 1) for (const server of servers) await isAllowed(server, 20);
    await expect
      .poll(async () => (await Promise.all(servers.map((server) => isAllowed(server, 1)))).includes(true), { interval: 1 })
      .toBe(false);
    await expect.poll(() => new Set(servers.flatMap(({ ids }) => ids())).size).toBe(2);
    for (const { told, ids } of servers) expect(new Set(ids()).size).toBe(told().length);
    const alone = await Promise.all([watching({ rules }), watching({ rules })]);
    for (const { post } of alone) await post('/v1/check', { rule: 'monthly', key: 'lou', cost: 80 });
    for (const { told } of alone) await expect.poll(told).toEqual([['lou', 80]]);
    expect(alone[0]?.ids()).toEqual(alone[1]?.ids());
  });

  it('is counted, as are the checkpoints, where there are any', async () => {
    const bare = await start({ rules });
    expect([await metrics(bare, 'headgate_webhooks'), await metrics(bare, 'headgate_quota')]).toEqual([{}, {}]);
    const database = `sqlite:${join(temporary(), 'rules.db')}`;
    const opened = openDatabase(readDatabaseUrl(database));
    const monthly = { name: 'monthly', key: ['account'], limit: { quota: { limit: 10, period: 'month' } } };
    await opened.rules.importAll({ base: 0, author: 'test', reason: 'first', file: { version: 1, rules: [monthly] } });
    await opened.close();
    const service = await watching({ flags: ['--database', database] });
    expect(await metrics(service, 'headgate_webhooks')).toEqual({
      headgate_webhooks_delivered_total: 0,
      headgate_webhooks_failed_attempts_total: 0,
      headgate_webhooks_dropped_total: 0,
      headgate_webhooks_waiting: 0,
    });
    expect(await metrics(service, 'headgate_quota')).toEqual({
      headgate_quota_checkpoints_saved_total: 0,
      headgate_quota_checkpoints_failed_total: 0,
      headgate_quota_checkpoints_dropped_total: 0,
      headgate_quota_checkpoints_restored_total: 0,
      headgate_quota_checkpoints_looked_up_total: 0,
      headgate_quota_checkpoints_lookups_failed_total: 0,
      headgate_quota_checkpoints_lookups_waiting: 0,
      headgate_quota_checkpoints_unsaved: 0,
      headgate_quota_checkpoints_oldest_unsaved_seconds: 0,
    });
  });
});

describe('PUT /v1/quotas of a quota that is used up', () => {
  it.each(['Redis', 'memory'])('lets no check pass meanwhile that neither value would let pass, over %s', async (where) => {
    const redis = where === 'Redis' ? await startRedis() : undefined;
    if (redis !== undefined) later(redis.kill);
    // The deadline is generous: what passes without Redis is not what is asked here.
    const { url, post, get } = await start({ rules, secret, deadline: '10s', ...(redis && { redis: redis.url }) });
    await expect.poll(async () => (await get('/readyz')).status, { timeout: 10_000 }).toBe(200);
    await put(`${url}/v1/quotas/zoe`, { rule: 'monthly', used: 100 });
    let isSet = false;
    const answers: boolean[] = [];
    const checking = async (): Promise<void> => {
      while (!isSet) answers.push((await post('/v1/check', { rule: 'monthly', key: 'zoe', cost: 11 })).json.allowed as boolean);
    };
    const checks = [checking(), checking(), checking()];
    for (let i = 0; i < 30; i += 1) {
      const [lower, higher] = await Promise.all([90, 500].map((used) => put(`${url}/v1/quotas/zoe`, { rule: 'monthly', used })));
      expect([lower?.status, higher?.status]).toEqual([200, 200]);
    }
    isSet = true;
    await Promise.all(checks);
    expect(answers.length).toBeGreaterThan(30);
    expect(answers).not.toContain(true);
  });
});
