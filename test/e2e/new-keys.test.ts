import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pause } from '../chaos/faults/fault.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { startLoad, type Load, type LoadOptions, type Look } from './attack-load.js';

const processes = 2;
const perSecond = 20_000;
const mebibyte = 2 ** 20;
const second = 1_000_000;

/** Each key's counter is of use for a second at most. */
const open = {
  bucket: { kind: 'tokenBucket', size: 1, units: 1, perUs: second },
  window: { kind: 'fixedWindow', size: 5, windowUs: second, from: 'first-request' },
  log: { kind: 'slidingLog', size: 5, windowUs: second },
} as const;
const ttlSeconds = 1;
/** Redis finds what has expired up to a second later at this rate, and its tables grow by doubling. */
const slack = 2.5;

const sum = (looks: readonly Look[], of: (look: Look) => number): number => looks.reduce((total, look) => total + of(look), 0);
const growth = (from: readonly Look[], to: readonly Look[]): number[] =>
  to.map((look, i) => (look.heapUsed - (from[i]?.heapUsed ?? 0)) / mebibyte);
const most = (numbers: readonly number[]): number => Math.max(...numbers);
const withoutTtl =
  "local n = 0 for _, key in ipairs(redis.call('KEYS', '*')) do if redis.call('PTTL', key) == -1 then n = n + 1 end end return n";

describe(`${perSecond.toLocaleString('en')} new keys a second`, () => {
  let redis: RedisServer;
  let load: Load | undefined;

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(async () => {
    load?.kill();
    await redis.kill();
  });

  async function start(options: Pick<LoadOptions, 'rules'> & Partial<LoadOptions>): Promise<Load> {
    load?.kill();
    load = await startLoad({ port: redis.port, processes, keyed: 'new', mostWaiting: 500, deadline: 2000, ...options });
    return load;
  }

  async function inRedis(): Promise<{ keys: number; bytes: number }> {
    const [keys, info] = await Promise.all([redis.command('DBSIZE'), redis.command('INFO', 'memory')]);
    return { keys: Number(keys), bytes: Number(/used_memory:(\d+)/.exec(String(info))?.[1]) };
  }

  it('take as much memory in Redis as their TTLs allow, and none when they have expired; a process takes none at all', async () => {
    const { go, look, halt, end } = await start({ rules: open });
    const before = await inRedis();
    const began = performance.now();
    await go(perSecond);
    await pause(2500);
    const middle = await look();
    const half = await inRedis();
    expect(await redis.command('EVAL', withoutTtl, 0)).toBe(0);
    const samples = [];
    for (let i = 0; i < 25; i += 1) {
      await pause(100);
      samples.push(await inRedis());
    }
    const last = await halt();
    const rate = sum(last, ({ answered }) => answered) / ((performance.now() - began) / 1000);
    const bytesPerKey = (half.bytes - before.bytes) / half.keys;
    const mostKeys = most(samples.map(({ keys }) => keys));
    const mostBytes = most(samples.map(({ bytes }) => bytes)) - before.bytes;
    let after = await inRedis();
    // Heartbeats stay while their processes do.
    const { length: beats } = (await redis.command('KEYS', '*{fleet}f:*')) as string[];
    for (let i = 0; i < 50 && after.keys > beats; i += 1, after = await inRedis()) await pause(100);
    const grown = growth(middle, last);
    console.log(
      `new keys: ${Math.round(rate)}/s, at most ${mostKeys} keys and ${(mostBytes / mebibyte).toFixed(1)} MiB (${Math.round(bytesPerKey)} bytes a key), ` +
        `${after.keys - beats} keys and ${((after.bytes - before.bytes) / 1024).toFixed(0)} KiB afterwards; heap grown by ${most(grown).toFixed(2)} MiB`,
    );
    expect(sum(last, ({ stats }) => stats.degraded)).toBe(0);
    expect(last.flatMap(({ errors }) => errors)).toEqual([]);
    expect(mostKeys).toBeGreaterThan(0);
    expect(mostKeys).toBeLessThan(perSecond * ttlSeconds * slack);
    expect(mostBytes).toBeLessThan(perSecond * ttlSeconds * bytesPerKey * slack);
    expect(bytesPerKey).toBeLessThan(500);
    expect(after.keys).toBe(beats);
    expect(after.bytes - before.bytes).toBeLessThan(mebibyte);
    expect(most(grown)).toBeLessThan(1);
    await end();
  });

  it('of which half are refused are noted up to the bound, and a process takes no more', async () => {
    const max = 2000;
    const closed = { kind: 'fixedWindow', size: 0, windowUs: second, from: 'epoch' } as const;
    const { go, look, end } = await start({ rules: { bucket: open.bucket, closed }, notes: { max } });
    await go(perSecond);
    await pause(2000);
    const middle = await look();
    await pause(2500);
    const last = await look();
    const grown = growth(middle, last);
    console.log(
      `new keys, half refused: ${last.map(({ stats }) => stats.notes).join(' and ')} notes; heap grown by ${most(grown).toFixed(2)} MiB`,
    );
    // Each process refuses 5,000 keys a second for a second each: the bound is reached.
    expect([...middle, ...last].map(({ stats }) => stats.notes)).toEqual([max, max, max, max]);
    expect(most(grown)).toBeLessThan(1);
    await end();
  });

  it('during an outage are decided in bounded memory, and owed for no more once it is over', async () => {
    const mostOwing = 100_000;
    /** In MiB: budgets and a ledger of 100,000 each, most of which is reached when the ledger is full. */
    const mostHeap = 120;
    const { go, look, halt, end } = await start({ rules: open });
    await go(perSecond / 10);
    await pause(500);
    const before = await look();
    await redis.kill();
    // Decided in memory, more can be asked.
    await go(3 * perSecond);
    let away = await look();
    for (let i = 0; i < 40 && away.some(({ stats }) => stats.owing < mostOwing); i += 1, away = await look()) await pause(250);
    const full = await look();
    await pause(2000);
    const last = await look();
    console.log(
      `new keys, outage: ${last.map(({ bySource }) => bySource['fallback']).join(' and ')} decided without Redis, ${last.map(({ stats }) => stats.owing).join(' and ')} owing; ` +
        `heap grown by ${most(growth(before, full)).toFixed(1)} MiB until full, by ${most(growth(full, last)).toFixed(2)} MiB after that`,
    );
    for (const { stats } of [...full, ...last]) expect(stats.owing).toBeLessThanOrEqual(mostOwing);
    expect(most(growth(before, last))).toBeLessThan(mostHeap);
    expect(most(growth(full, last))).toBeLessThan(mostHeap / 5);
    await redis.restart();
    await go(perSecond / 10);
    let back = await look();
    for (let i = 0; i < 50 && back.some(({ stats }) => stats.owing > 0); i += 1, back = await look()) await pause(100);
    expect(back.map(({ stats }) => stats.owing)).toEqual([0, 0]);
    expect((await halt()).flatMap(({ errors }) => errors)).toEqual([]);
    await end();
  });
});
