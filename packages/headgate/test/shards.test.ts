import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { startCluster } from '../../../test/support/cluster.js';
import { startRedis, type RedisServer } from '../../../test/support/redis.js';
import { createLimiter, fixedWindow, tokenBucket } from '../src/index.js';
import type { LimiterEvent, LimiterOptions, RuleOptions } from '../src/index.js';
import { redisStore, type RedisStoreOptions } from '../src/redis.js';
import { rendezvous } from '../src/stores/rendezvous.js';
import { fiveOfEachKind, startWorker } from './support/workers.js';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** So many servers, by name. */
async function servers(count: number): Promise<Record<string, RedisServer>> {
  const started = await Promise.all(Array.from({ length: count }, () => startRedis()));
  for (const server of started) open.push(server.kill);
  return Object.fromEntries(started.map((server, i) => [`s${i}`, server]));
}

function clientsOf(shards: Record<string, RedisServer>): Record<string, Redis> {
  const clients = Object.fromEntries(
    Object.entries(shards).map(([name, { host, port }]) => [name, new Redis(port, host, { lazyConnect: true })]),
  );
  for (const client of Object.values(clients)) {
    client.on('error', () => undefined);
    open.push(() => client.disconnect());
  }
  return clients;
}

interface Options<Name extends string> extends Partial<LimiterOptions<Name>> {
  readonly weights?: RedisStoreOptions['weights'];
}

function limiterOver<const Name extends string>(
  shards: Record<string, RedisServer>,
  rules: Record<Name, RuleOptions>,
  { weights, ...options }: Options<Name> = {},
) {
  const events: LimiterEvent[] = [];
  const store = redisStore({ clients: clientsOf(shards), ...(weights && { weights }) });
  const onEvent = (event: LimiterEvent): void => void events.push(event);
  const limiter = createLimiter<Name>({ store, deadline: '2s', fleetSize: 1, rules, onEvent, ...options });
  open.push(() => limiter.close());
  return { limiter, events };
}

const placeOf = (shards: Record<string, RedisServer>) => rendezvous(Object.keys(shards).map((name) => ({ name, weight: 1 })));

/** A key that lives on a shard. */
function keyOn(shards: Record<string, RedisServer>, name: string, nth = 0): string {
  const found = Array.from({ length: 10_000 }, (_, i) => `key-${i}`).filter((key) => placeOf(shards)(key) === name);
  return found[nth] ?? '';
}

const states = async ({ command }: RedisServer): Promise<string[]> =>
  ((await command('KEYS', '*')) as unknown[]).map(String).filter((key) => !key.includes('{fleet}f:'));

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

async function fiveOfThousand(store: Parameters<typeof startWorker>[0]): Promise<void> {
  const rules = fiveOfEachKind();
  const workers = await Promise.all(Array.from({ length: 4 }, () => startWorker(store, rules)));
  for (const worker of workers) open.push(worker.stop);
  for (const rule of Object.keys(rules)) {
    for (const key of ['one', 'two', 'three', 'four']) {
      const answers = await Promise.all(workers.map(({ check }) => check({ rule, key, times: 250 })));
      expect(sum(answers.map(({ passed }) => passed)), `${rule} ${key}`).toBe(5);
      expect(sum(answers.map(({ degraded }) => degraded)), `${rule} ${key}`).toBe(0);
    }
  }
}

describe('of 1,000 checks at once from 4 processes exactly 5 pass, of every kind of limit', () => {
  it('over 4 shards', { timeout: 60_000 }, async () => {
    const shards = await servers(4);
    await fiveOfThousand({ shards: Object.fromEntries(Object.entries(shards).map(([name, { url }]) => [name, url])) });
    const used = await Promise.all(Object.values(shards).map(async (server) => (await states(server)).length));
    expect(used.filter((count) => count > 0).length).toBeGreaterThan(1);
  });

  it('over a cluster of 3 masters', { timeout: 60_000 }, async () => {
    const cluster = await startCluster({ masters: 3 });
    open.push(cluster.stop);
    await fiveOfThousand({ cluster: cluster.urls[0] ?? '' });
  });
});

describe('a key', () => {
  it('lives on one shard with all its rules, whatever process asks', async () => {
    const shards = await servers(3);
    const limit = fixedWindow({ limit: 10, window: '1h', from: 'first-request' });
    const [a, b] = [limiterOver(shards, { one: { limit }, two: { limit } }), limiterOver(shards, { one: { limit }, two: { limit } })];
    for (const { limiter } of [a, b]) {
      for (let i = 0; i < 30; i += 1) {
        const key = `key-${i}`;
        const { decisions } = await limiter.checkAll([
          { rule: 'one', key },
          { rule: 'two', key },
        ]);
        expect(decisions.map(({ remaining }) => remaining)).toEqual(limiter === a.limiter ? [9, 9] : [8, 8]);
      }
    }
    for (const [name, server] of Object.entries(shards)) {
      const held = await states(server);
      expect(held.length).toBeGreaterThan(0);
      for (const state of held) expect(placeOf(shards)(/\{(.+)\}/.exec(state)?.[1] ?? '')).toBe(name);
    }
  });

  it('is reset, banned, refunded and held on its own shard', async () => {
    const shards = await servers(2);
    const { limiter } = limiterOver(shards, { api: { limit: fixedWindow({ limit: 2, window: '1h', from: 'first-request' }) } });
    for (const name of Object.keys(shards)) {
      const key = keyOn(shards, name);
      const taken = await limiter.check('api', key, { cost: 2 });
      expect(await limiter.refund(taken)).toBe(2);
      await limiter.ban('api', key, '1m');
      expect(await limiter.check('api', key)).toMatchObject({ reason: 'banned' });
      await limiter.unban('api', key);
      expect(await limiter.check('api', key, { cost: 2 })).toMatchObject({ allowed: true });
      await limiter.reset('api', key);
      expect(await limiter.peek('api', key)).toMatchObject({ remaining: 2 });
    }
  });
});

describe('a group over several shards', () => {
  it('passes if all pass; refused by one it gives back what the others took', async () => {
    const shards = await servers(3);
    const { limiter } = limiterOver(shards, { api: { limit: tokenBucket({ capacity: 3, refill: '1/h' }) } });
    const keys = Object.keys(shards).map((name) => keyOn(shards, name));
    const group = keys.map((key) => ({ rule: 'api', key }) as const);
    expect(await limiter.checkAll(group)).toMatchObject({ allowed: true, remaining: 2, degraded: false });
    await limiter.check('api', keys[1] ?? '', { cost: 2 });
    const refused = await limiter.checkAll(group);
    expect(refused).toMatchObject({ allowed: false, key: keys[1] });
    expect(refused.decisions.map(({ allowed }) => allowed)).toEqual([true, false, true]);
    for (const key of [keys[0], keys[2]]) {
      await expect.poll(async () => (await limiter.peek('api', key ?? '')).remaining).toBe(2);
    }
  });
});

describe('one dead shard of eight', () => {
  it('concerns an eighth of the clients, and nobody else', { timeout: 60_000 }, async () => {
    const shards = await servers(8);
    const dead = await startRedis();
    open.push(dead.kill);
    await dead.kill();
    const rules = { api: { limit: tokenBucket({ capacity: 1e6, refill: '1000/s' }) } };
    const well = limiterOver(shards, rules);
    const without = limiterOver({ ...shards, s3: dead }, rules);
    await well.limiter.ready();
    const keys = Array.from({ length: 4000 }, (_, i) => `client-${i}`);
    /** The clients that were decided for without the store. */
    const round = async ({ limiter }: typeof well): Promise<string[]> => {
      const decisions = await Promise.all(keys.map((key) => limiter.check('api', key)));
      return decisions.filter(({ degraded }) => degraded).map(({ key }) => key);
    };
    for (const limiters of [well, without]) await round(limiters);
    for (let i = 0; i < 3; i += 1) {
      expect(await round(well)).toEqual([]);
      const degraded = await round(without);
      expect(degraded.every((key) => placeOf(shards)(key) === 's3')).toBe(true);
      expect(degraded.length / keys.length).toBeGreaterThan(0.115);
      expect(degraded.length / keys.length).toBeLessThan(0.135);
    }
    expect(without.limiter.stats().unavailable).toEqual(['s3']);
    expect(without.events).toMatchObject([{ type: 'unavailable', shard: 's3' }]);
    await dead.restart();
    await expect
      .poll(async () => (await without.limiter.check('api', keyOn(shards, 's3'))).source, { interval: 20, timeout: 5000 })
      .toBe('store');
    expect(without.events.map(({ type }) => type)).toEqual(['unavailable', 'available']);
  });
});

describe('a ninth shard', () => {
  it('added under load takes a ninth of the clients, and nobody else begins anew', { timeout: 60_000 }, async () => {
    const shards = await servers(9);
    const eight = Object.fromEntries(Object.entries(shards).slice(0, 8));
    const rules = { api: { limit: fixedWindow({ limit: 1000, window: '1h', from: 'first-request' }) } };
    const before = limiterOver(eight, rules).limiter;
    const keys = Array.from({ length: 9000 }, (_, i) => `client-${i}`);
    const all = (limiter: typeof before) => Promise.all(keys.map((key) => limiter.check('api', key)));
    await all(before);
    const load = all(before);
    const after = limiterOver(shards, rules).limiter;
    const moved = (await all(after)).filter(({ remaining }) => remaining === 999);
    await load;
    expect(moved.length / keys.length).toBeGreaterThan(0.9 / 9);
    expect(moved.length / keys.length).toBeLessThan(1.1 / 9);
    expect(moved.every(({ key }) => placeOf(shards)(key) === 's8')).toBe(true);
    const kept = (await all(after)).filter(({ key }) => placeOf(shards)(key) !== 's8');
    expect(kept.every(({ remaining }) => remaining === 996)).toBe(true);
  });
});

describe('processes', () => {
  it('that disagree about the shards are told so, once', { timeout: 20_000 }, async () => {
    const shards = await servers(3);
    const two = Object.fromEntries(Object.entries(shards).slice(0, 2));
    const rules = { api: { limit: fixedWindow({ limit: 5, window: '1h' }) } };
    const same = limiterOver(shards, rules);
    const alike = limiterOver(shards, rules, { weights: { s0: 1 } });
    await expect.poll(() => same.limiter.stats().fleet, { timeout: 5000 }).toBe(2);
    const other = limiterOver(two, rules);
    const heavier = limiterOver(shards, rules, { weights: { s0: 2 } });
    for (const { events } of [same, alike, other, heavier]) {
      await expect.poll(() => events.map(({ type }) => type), { timeout: 5000 }).toEqual(['shards-differ']);
    }
    expect(same.events[0]?.message).toMatch(/give every process the same shards/);
  });

  it('count each other on every shard, and those that leave are no longer counted', { timeout: 20_000 }, async () => {
    const shards = await servers(2);
    const rules = { api: { limit: fixedWindow({ limit: 50, window: '1h' }) } };
    const limiters = Array.from({ length: 3 }, () => limiterOver(shards, rules).limiter);
    for (const { stats } of limiters) await expect.poll(() => stats().fleet, { timeout: 5000 }).toBe(3);
    await limiters[2]?.close();
    for (const { stats } of limiters.slice(0, 2)) await expect.poll(() => stats().fleet, { timeout: 10_000 }).toBe(2);
    // Remembered while one shard, then all are away.
    await shards['s0']?.kill();
    await shards['s1']?.kill();
    expect((await limiters[0]?.check('api', 'key'))?.degraded).toBe(true);
    let passed = 0;
    for (let i = 0; i < 40; i += 1) if ((await limiters[0]?.check('api', 'key'))?.allowed) passed += 1;
    expect(passed).toBe(24);
    expect(limiters[0]?.stats().fleet).toBe(2);
  });

  it('that are told wrong shards get a clear error', () => {
    const client = { status: 'wrong' };
    const make = (options: RedisStoreOptions) => () => redisStore(options);
    expect(make({})).toThrow(/redisStore.client: expected a client, got undefined/);
    expect(make({ clients: {} })).toThrow(/expected 1 to 256 clients by name; got 0/);
    expect(make({ client, clients: { a: client } })).toThrow(/either client or clients/);
    expect(make({ clients: { 'a b': client } })).toThrow(/a name is 1 to 64 letters, digits.*got "a b"/);
    expect(make({ clients: { a: 'redis://x' } })).toThrow(/redisStore.clients.a: expected a client, got a string/);
    expect(make({ clients: { a: client }, weights: { b: 1 } })).toThrow(/"b" is none of the clients/);
    expect(make({ clients: { a: client }, weights: { a: -1 } })).toThrow(/weights.a: expected a number from 0 to 1000; got -1/);
    expect(make({ clients: { a: client }, weights: { a: 0 } })).toThrow(/at least one client must have a weight above 0/);
    expect(make({ client, weights: { a: 1 } })).toThrow(/they need clients/);
  });
});
