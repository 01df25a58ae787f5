import { createServer } from 'node:http';
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  quota,
  StoreError,
  tokenBucket,
  type Limiter,
  type RuleOptions,
  type Store,
} from 'headgate';
import { redisStore } from 'headgate/redis';
import { remoteStore } from 'headgate/remote';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRedis, type RedisServer } from '../../../test/support/redis.js';
import { serve, token } from './support/served-store.js';
import { ask, later, start } from './support/service.js';

const parallel = <T>(times: number, call: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: times }, (_, i) => call(i)));
const bucket = (capacity: number) => tokenBucket({ capacity, refill: '1/h' });

function limiterOver<const Name extends string>(
  url: string,
  rules: Record<Name, RuleOptions>,
  deadline: '20s' | '200ms' = '20s',
): Limiter<Name> {
  const limiter = createLimiter<Name>({ store: remoteStore({ url, token }), deadline, rules, fleetSize: 1, onEvent: () => undefined });
  later(() => limiter.close());
  return limiter;
}

async function served(store: Store = memoryStore(), fate?: Parameters<typeof serve>[1]) {
  const service = await serve(store, fate);
  later(() => service.close());
  return service;
}

const decides = (seen: Awaited<ReturnType<typeof serve>>['seen']): number[] =>
  seen.map((operations) => operations.filter(({ op }) => op === 'decide').length).filter((count) => count > 0);

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.kill());

describe.each(['in memory', 'in Redis'])('limiters over a service whose counters are %s', (where) => {
  const service = () => start({ env: { HEADGATE_STORE_TOKEN: token }, ...(where === 'in Redis' ? { redis: redis.url } : undefined) });

  it("share one budget, by the service's clock", async () => {
    const { url } = await service();
    const rules = { api: { limit: fixedWindow({ limit: 100, window: '1d', from: 'first-request' }) } };
    const two = [limiterOver(url, rules), limiterOver(url, rules)] as const;
    const key = `key-${where}`;
    const decisions = await parallel(300, (i) => (two[i % 2] ?? two[0]).check('api', key));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(100);
    expect(decisions.every(({ source, degraded }) => source === 'store' && !degraded)).toBe(true);
    const [first] = decisions;
    expect(await two[1].refund(first as never)).toBe(1);
    expect(await two[1].peek('api', key)).toMatchObject({ remaining: 1 });
  });

  it('lease, sync, remember who is refused, and count their fleet', async () => {
    const { url } = await service();
    const rules = {
      leased: { limit: bucket(1000), mode: 'lease' },
      synced: { limit: fixedWindow({ limit: 1000, window: '1d', from: 'first-request' }), mode: { sync: '100ms' } },
      exact: { limit: bucket(1) },
    } as const;
    const two = [limiterOver(url, rules), limiterOver(url, rules)] as const;
    const key = `key-${where}`;
    const leased = await parallel(1200, (i) => (two[i % 2] ?? two[0]).check('leased', key));
    expect(leased.filter(({ allowed }) => allowed).length).toBeLessThanOrEqual(1000);
    for (let i = 0; i < 200; i += 1) await two[0].check('synced', key);
    expect(two[0].stats().decidedLocally).toBeGreaterThan(100);
    await parallel(20, () => two[0].check('exact', key));
    expect(await two[0].check('exact', key)).toMatchObject({ allowed: false });
    expect(two[0].stats()).toMatchObject({ degraded: 0 });
    await expect.poll(() => two[0].stats().fleet, { timeout: 20_000 }).toBeGreaterThanOrEqual(2);
  });

  it('ban, set, reset and answer when they are ready', async () => {
    const { url } = await service();
    const limiter = limiterOver(url, { monthly: { limit: quota({ limit: 100, period: 'month', timeZone: 'Europe/Zurich' }) } });
    const key = `key-${where}`;
    await limiter.ready();
    await limiter.setUsed('monthly', key, { used: 70 });
    expect(await limiter.check('monthly', key)).toMatchObject({ remaining: 29 });
    await limiter.ban('monthly', key, '1h');
    expect(await limiter.check('monthly', key)).toMatchObject({ reason: 'banned' });
    await limiter.unban('monthly', key);
    await limiter.reset('monthly', key);
    expect(await limiter.check('monthly', key)).toMatchObject({ remaining: 99 });
    const decision = await limiter.check('monthly', key, { cost: 9 });
    const receipt = limiter.receipt(decision);
    expect(
      await limiterOver(url, { monthly: { limit: quota({ limit: 100, period: 'month', timeZone: 'Europe/Zurich' }) } }).refund(
        receipt as never,
      ),
    ).toBe(9);
    expect(await limiter.refund(receipt as never)).toBe(0);
  });
});

describe('checks of one turn', () => {
  it('travel together, at most 64 in a request and two requests at once, over connections that are kept', async () => {
    const { url, seen, connections } = await served();
    const limiter = limiterOver(url, { api: { limit: bucket(1000) } });
    await parallel(200, (i) => limiter.check('api', `key${i}`));
    expect(decides(seen)).toEqual([64, 64, 64, 8]);
    await parallel(64, (i) => limiter.check('api', `key${i}`));
    await limiter.check('api', 'alone');
    expect(connections.size).toBeLessThanOrEqual(4);
    expect(decides(seen).at(-1)).toBe(1);
  });

  it('fail each for itself', async () => {
    const inner = memoryStore();
    const foreign = new StoreError('rule "api": its key holds another value', { code: 'HEADGATE_FOREIGN_VALUE' });
    const store: Store = {
      ...inner,
      decide: (group, ticket) => (group.checks[0]?.key === 'broken' ? Promise.reject(foreign) : inner.decide(group, ticket)),
    };
    const { url } = await served(store);
    const remote = remoteStore({ url, token });
    later(() => remote.close());
    const decide = (key: string) => remote.decide({ checks: [{ rule: 'api', key, limit: bucket(5), cost: 1 }] });
    const [a, b, c] = await Promise.allSettled([decide('a'), decide('broken'), decide('c')]);
    expect([a, c]).toMatchObject([{ value: { allowed: true } }, { value: { allowed: true } }]);
    expect(b).toMatchObject({ reason: { name: 'StoreError', code: 'HEADGATE_FOREIGN_VALUE', message: foreign.message } });
  });
});

describe('a service that is away', () => {
  it('is decided without, within the deadline, and is used again once it is back', async () => {
    let away = true;
    const { url, seen } = await served(memoryStore(), () => (away ? 'silence' : 'answer'));
    const limiter = limiterOver(url, { api: { limit: bucket(100) } }, '200ms');
    expect(await limiter.check('api', 'key')).toMatchObject({ degraded: true, source: 'fallback' });
    away = false;
    await expect.poll(async () => (await limiter.check('api', 'key')).degraded, { timeout: 20_000 }).toBe(false);
    expect(seen.length).toBeGreaterThan(1);
  });

  it('that cannot be reached has counted nothing: what passed is charged when it is there', async () => {
    const reserved = createServer();
    const port = await new Promise<number>((resolve) =>
      reserved.listen(0, '127.0.0.1', () => resolve((reserved.address() as { port: number }).port)),
    );
    await new Promise((resolve) => reserved.close(resolve));
    const limiter = limiterOver(`http://127.0.0.1:${port}`, { api: { limit: bucket(100) } });
    for (let i = 0; i < 10; i += 1) expect(await limiter.check('api', 'key')).toMatchObject({ allowed: true, degraded: true });
    const { app } = await start({ env: { HEADGATE_STORE_TOKEN: token }, port });
    expect(app.url).toContain(String(port));
    await expect.poll(async () => (await limiter.peek('api', 'key')).remaining, { timeout: 30_000 }).toBe(90);
  });

  it('as its Redis is gone says that it has counted nothing, and decides nothing itself', async () => {
    const gone = await startRedis();
    const client = new Redis(gone.port, gone.host);
    const inner = redisStore({ client });
    later(async () => {
      await inner.close();
      client.disconnect();
    });
    const { url } = await served(inner);
    const remote = remoteStore({ url, token });
    later(() => remote.close());
    await remote.ping();
    await gone.kill();
    const checks = [{ rule: 'api', key: 'key', limit: bucket(10), cost: 1 }];
    await expect(remote.ping()).rejects.toThrow(StoreError);
    const ticket = { cancelled: false, sent: false };
    await expect(remote.decide({ checks }, ticket)).rejects.toThrow('Redis is not connected');
    expect(ticket.sent).toBe(false);
  });

  it('and hangs up after it has counted is never asked the same again', async () => {
    let hangups = 1;
    const store = memoryStore();
    const { url, seen } = await served(store, () => (hangups-- > 0 ? 'hangup' : 'answer'));
    const remote = remoteStore({ url, token });
    later(() => remote.close());
    const ticket = { cancelled: false, sent: false };
    const limit = bucket(10);
    const checks = [{ rule: 'api', key: 'key', limit, cost: 3 }];
    await expect(remote.decide({ checks }, ticket)).rejects.toThrow('the connection to the service was lost');
    expect(ticket.sent).toBe(true);
    expect(decides(seen)).toEqual([1]);
    expect(await remote.decide({ checks, dry: true })).toMatchObject({ outcomes: [{ remaining: 7 }] });
  });

  it('rejects what has no fallback, and says how to mend a wrong token', async () => {
    const { url } = await served();
    const remote = remoteStore({ url, token: 'another-token-of-the-tests' });
    later(() => remote.close());
    await expect(remote.ping()).rejects.toThrow('the service answered 401: the token is wrong');
    const ticket = { cancelled: false, sent: false };
    await expect(remote.decide({ checks: [{ rule: 'a', key: 'k', limit: bucket(1), cost: 1 }] }, ticket)).rejects.toThrow(StoreError);
    expect(ticket.sent).toBe(false);
    const error: unknown = await remote.ping().catch((caught: unknown) => caught);
    expect(JSON.stringify(error) + String(error)).not.toContain('another-token');
    const without = await start();
    const unserved = remoteStore({ url: without.url, token });
    later(() => unserved.close());
    await expect(unserved.ping()).rejects.toThrow('404: the service has no store operations');
    await unserved.close();
    await expect(unserved.ping()).rejects.toMatchObject({ code: 'HEADGATE_CLOSED' });
  });
});

describe('POST /v1/store', () => {
  const limits = [{ kind: 'tokenBucket', capacity: 1, creditUnits: 1, creditUs: 1 }];
  const decide = { op: 'decide', checks: [{ rule: 'a', key: 'k', limit: 0, cost: 1 }] };

  it.each([
    ['another version', { v: 2, limits, ops: [decide] }, '/v', 'expected version 1'],
    ['no operation', { v: 1, limits, ops: [] }, '/ops', ''],
    ['65 operations', { v: 1, limits, ops: Array(65).fill(decide) }, '/ops', ''],
    [
      '65 checks',
      {
        v: 1,
        limits,
        ops: [
          { ...decide, checks: Array(40).fill(decide.checks[0]) },
          { ...decide, checks: Array(25).fill(decide.checks[0]) },
        ],
      },
      '/ops',
      'over 64 checks',
    ],
    ['a limit that is not there', { v: 1, limits: [], ops: [decide] }, '/limits', 'there is no limit 0'],
    [
      'a limit that takes ages',
      { v: 1, limits: [{ ...limits[0], capacity: 9e9, creditUs: 3e14 }], ops: [decide] },
      '/limits/0',
      'over ten years',
    ],
    [
      'a time zone that is none',
      { v: 1, limits: [{ kind: 'quota', limit: 1, period: 'day', timeZone: 'Mars/Olympus', billingDay: 1 }], ops: [decide] },
      '/limits/0',
      'Mars/Olympus',
    ],
    ['an unknown kind', { v: 1, limits: [{ kind: 'magic' }], ops: [decide] }, '/limits/0/kind', ''],
    ['an unknown field', { v: 1, limits, ops: [{ ...decide, degraded: true }] }, '/ops/0/degraded', 'unknown field'],
    [
      'a holder that is no id',
      { v: 1, limits, ops: [{ op: 'decide', checks: [{ ...decide.checks[0], holder: 'a"b' }] }] },
      '/ops/0/checks/0/holder',
      '',
    ],
  ])('refuses %s, and does nothing', async (_, body, pointer, detail) => {
    const { url, seen } = await served();
    const answer = await ask(`${url}/v1/store`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(400);
    expect(answer.json.errors[0]).toMatchObject({ pointer, detail: expect.stringContaining(detail) as string });
    expect(seen).toEqual([]);
  });

  it('reads nothing of those without the token', async () => {
    const { url } = await served();
    for (const authorization of ['', 'Bearer', 'Bearer wrong', `Basic ${token}`]) {
      const answer = await ask(`${url}/v1/store`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: '{',
      });
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    }
  });
});

describe('remoteStore', () => {
  it('refuses options that cannot work, and shows no secret', () => {
    const wrong = (options: unknown) => () => remoteStore(options as never);
    expect(wrong({ url: 'headgate:8080', token })).toThrow('remoteStore.url: expected the address of a service');
    expect(wrong({ url: 'http://me:pa55word@host', token })).toThrow('expected no password');
    expect(wrong({ url: 'http://me:pa55word@host', token })).not.toThrow('pa55word');
    expect(wrong({ url: 'http://host', token: 'short' })).toThrow('remoteStore.token: expected at least 16');
    expect(wrong({ url: 'http://host', token, agent: 1 })).toThrow('unknown option "agent"');
  });
});
