import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import express, { type RequestHandler } from 'express';
import { rateLimit, type Options } from 'express-rate-limit';
import { memoryStore, type Store } from 'headgate';
import { headgateStore, type HeadgateStoreOptions } from 'headgate/express-rate-limit-store';
import { redisStore } from 'headgate/redis';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startRedis, type RedisServer } from '../../../../test/support/redis.js';
import { eventually, send } from './client.js';

let redis: RedisServer;
let client: Redis;
const ends: (() => void)[] = [];
beforeAll(async () => {
  redis = await startRedis();
  client = new Redis(redis.port, redis.host);
});
afterEach(async () => {
  for (const end of ends.splice(0)) end();
  await client.flushall();
});
afterAll(async () => {
  client.disconnect();
  await redis.stop();
});

async function listen(middleware: RequestHandler, status = (): number => 200): Promise<number> {
  const app = express();
  app.use(middleware);
  app.all('/', (_request, response) => void response.status(status()).send('ok'));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  return (server.address() as AddressInfo).port;
}

/** Everything that express-rate-limit finds wrong. */
function faults(): { readonly logger: Options['logger']; readonly said: string[] } {
  const said: string[] = [];
  const say = (error: unknown): void => void said.push(String(error));
  return { logger: { error: say, warn: say }, said };
}

type Made = Partial<Options> & { readonly how?: HeadgateStoreOptions };
const limited = (store: Store, { how, ...options }: Made = {}) =>
  rateLimit({ windowMs: 60_000, limit: 5, ...options, store: headgateStore({ store, deadline: '2s', fleetSize: 1, ...how }) });

async function statuses(port: number, times: number): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: times }, () => send(port)));
  return answers.map(({ status }) => status).sort();
}

const stores: [string, () => Store][] = [
  ['in memory', () => memoryStore()],
  ['in Redis', () => redisStore({ client })],
];
const fivePassed = [200, 200, 200, 200, 200, 429, 429, 429];

describe.each(stores)('express-rate-limit over a store %s', (_where, makeStore) => {
  it('lets exactly its limit pass, however many come at once, and its own validations find nothing', async () => {
    const { logger, said } = faults();
    const port = await listen(limited(makeStore(), { logger }));
    expect(await statuses(port, 8)).toEqual(fivePassed);
    expect(said).toEqual([]);
  });

  it('tells used, remaining and the reset as express-rate-limit does', async () => {
    const port = await listen(limited(makeStore(), { standardHeaders: 'draft-6', limit: 2 }));
    const seen = [await send(port), await send(port), await send(port)].map(({ headers }) => headers['ratelimit-remaining']);
    expect(seen).toEqual(['1', '0', '0']);
    const { headers, status } = await send(port);
    expect(status).toBe(429);
    expect(Number(headers['retry-after'])).toBeGreaterThan(50);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60);
  });

  it('counts no request that failed, under skipFailedRequests, and refusals give nothing back', async () => {
    let status = 500;
    const port = await listen(limited(makeStore(), { skipFailedRequests: true, limit: 2 }), () => status);
    const middle = await statuses(port, 1);
    expect(middle).toEqual([500]);
    await eventually('the failure is taken back', async () => (await send(port)).headers['x-ratelimit-remaining'] === '1');
    status = 200;
    await eventually('both places are free', async () => {
      const { status: code, headers } = await send(port);
      return code === 200 && headers['x-ratelimit-remaining'] === '0';
    });
    for (let i = 0; i < 10; i++) expect((await send(port)).status).toBe(429);
  });

  it('takes a limit for each request', async () => {
    const port = await listen(limited(makeStore(), { limit: (request) => Number(request.get('x-limit')), keyGenerator: () => 'one' }));
    const ask = async (limit: string) => (await send(port, { headers: { 'x-limit': limit } })).status;
    expect([await ask('2'), await ask('2'), await ask('2'), await ask('4'), await ask('4')]).toEqual([200, 200, 429, 200, 429]);
  });

  it('refuses everything under a limit of 0', async () => {
    const port = await listen(limited(makeStore(), { limit: 0, validate: { limit: false } }));
    expect((await send(port)).status).toBe(429);
  });

  it('answers getKey and resetKey', async () => {
    const middleware = limited(makeStore(), { keyGenerator: () => 'ada' });
    const port = await listen(middleware);
    expect(await middleware.getKey('ada')).toBeUndefined();
    await send(port);
    await send(port);
    expect(await middleware.getKey('ada')).toMatchObject({ totalHits: 2 });
    await middleware.resetKey('ada');
    expect(await middleware.getKey('ada')).toBeUndefined();
  });
});

describe('express-rate-limit over Redis', () => {
  it('lets exactly its limit pass over two processes', async () => {
    const app = join(import.meta.dirname, '../support/express-rate-limit-app.mjs');
    const children = [1, 2].map(() => fork(app, [String(redis.port)]));
    for (const child of children) ends.push(() => void child.kill());
    const ports = await Promise.all(children.map(async (child) => (await once(child, 'message'))[0] as number));
    const answers = await Promise.all(ports.map((port) => statuses(port, 30)));
    expect(answers.flat().filter((status) => status === 200)).toHaveLength(20);
  });

  it('lets no more than its limit pass where two instances lease units', async () => {
    const make = () => limited(redisStore({ client }), { limit: 50, keyGenerator: () => 'all', how: { mode: 'lease', fleetSize: 2 } });
    const ports = [await listen(make()), await listen(make())];
    const passed = async (port: number) => (await statuses(port, 80)).filter((status) => status === 200).length;
    const [a = 0, b = 0] = await Promise.all(ports.map(passed));
    expect(a + b).toBeLessThanOrEqual(50);
    expect(a + b).toBeGreaterThan(40);
  });

  it('decides by its share of the limit while Redis is away', async () => {
    const own = await startRedis();
    const connection = new Redis(own.port, own.host, { maxRetriesPerRequest: 0 });
    connection.on('error', () => undefined);
    ends.push(() => connection.disconnect());
    const port = await listen(limited(redisStore({ client: connection }), { how: { deadline: '50ms', onEvent: () => undefined } }));
    await own.stop();
    expect(await statuses(port, 8)).toEqual(fivePassed);
  });

  it('leaves to passOnStoreError what only counts, while Redis is away', async () => {
    const own = await startRedis();
    const connection = new Redis(own.port, own.host, { maxRetriesPerRequest: 0 });
    connection.on('error', () => undefined);
    ends.push(() => connection.disconnect());
    const { logger, said } = faults();
    const make = (passOnStoreError: boolean) =>
      limited(redisStore({ client: connection }), {
        logger,
        passOnStoreError,
        skipFailedRequests: true,
        how: { deadline: '50ms', onEvent: () => undefined, name: `pass ${passOnStoreError}` },
      });
    const ports = [await listen(make(true)), await listen(make(false))];
    await own.stop();
    expect(await Promise.all(ports.map(async (port) => (await send(port)).status))).toEqual([200, 503]);
    expect(said.join()).toContain('StoreError: headgateStore: the store did not answer');
  });
});

describe('a store that cannot do what its options say', () => {
  it('says so at once and passes no request: a mode without a limit that is a number', async () => {
    const { logger, said } = faults();
    const port = await listen(limited(memoryStore(), { logger, limit: () => 5, how: { mode: 'lease' } }));
    expect(said[0]).toContain('headgateStore.mode: got "lease", which needs a limit that is a number');
    expect((await send(port)).status).toBe(500);
  });

  it('says so at once and passes no request: one store for two limits', async () => {
    const { logger, said } = faults();
    const store = headgateStore();
    const first = rateLimit({ limit: 5, store, logger });
    rateLimit({ limit: 10, store, logger });
    expect(said.join()).toContain('make another store, with another name');
    expect((await send(await listen(first))).status).toBe(500);
  });

  it('throws for an option that does not exist', () => {
    expect(() => headgateStore({ Name: 'api' } as HeadgateStoreOptions)).toThrow('did you mean "name"?');
  });
});
