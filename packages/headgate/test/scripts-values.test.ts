import { describe, expect, it } from 'vitest';
import { concurrency, consecutiveFailures, fixedWindow, quota, slidingLog, slidingWindow, tokenBucket } from '../src/index.js';
import type { Check, CountedLimit, Receipt } from '../src/index.js';
import { receiptOf, returnableUntil } from '../src/stores/outcome.js';
import { windowAwayFromEdge } from './support/away-from-edges.js';
import { unpackPair, wholeAt } from './support/states.js';
import { storeInRedis } from './support/store-in-redis.js';

const redis = storeInRedis();

const ms = 600_000;
const minute = 60_000_000;
const window = windowAwayFromEdge(ms);
const us = 1000;

interface Stored {
  /** Without a ban. */
  readonly state: string;
  readonly bannedUntil: number;
  /** When Redis drops the key, us since 1970. */
  readonly expiresAt: number;
}

async function stored(key: string): Promise<Stored | undefined> {
  const replies = await redis.client.multi().pexpiretime(key).getBuffer(key).exec();
  const [expiresAtMs, value] = (replies ?? []).map(([, reply]) => reply) as [number, Buffer | null];
  if (value === null) return undefined;
  const text = value.toString('latin1');
  const ban = /^!(\d+)!/.exec(text);
  return {
    state: text.slice(ban?.[0].length ?? 0),
    bannedUntil: Number(ban?.[1] ?? 0),
    expiresAt: expiresAtMs * us,
  };
}

async function present(key: string): Promise<Stored> {
  const found = await stored(key);
  if (found === undefined) throw new Error(`there is no key ${key}`);
  return found;
}

const bytesOf = (state: string): Buffer => Buffer.from(state, 'latin1');

interface Kind {
  readonly name: string;
  readonly letter: string;
  readonly limit: CountedLimit;
  readonly format: RegExp;
  /** The units that a state counts. */
  used(state: string): number;
  /** When it is worth no more than an absent key, us since 1970. */
  neededUntil(state: string): number;
}

const pair = /^[\x00-\x1f][\x00-\xff]{11}$/;
const counted = (state: string): number => unpackPair(bytesOf(state)).number;
const timeOf = (state: string): number => unpackPair(bytesOf(state)).time;
const endOf = (state: string): number => Number(/(\d+)$/.exec(state)?.[1]);
const leading = (state: string): number => Number(/^(\d+)/.exec(state)?.[1]);
const holdersOf = (state: string): [string, number, number][] =>
  [...state.matchAll(/([^:,C]+):(\d+):(\d+),/g)].map(([, id = '', until, cost]) => [id, Number(until), Number(cost)]);

const kinds: readonly Kind[] = [
  {
    name: 'a bucket',
    letter: 'b',
    limit: tokenBucket({ capacity: 10, refill: '1/m' }),
    format: pair,
    used: (state) => counted(state) / 1_000_000,
    neededUntil: (state) => timeOf(state) + counted(state) * 60,
  },
  { name: 'a window', letter: 'w', limit: fixedWindow({ limit: 10, window }), format: pair, used: counted, neededUntil: timeOf },
  {
    name: 'a window from the first request',
    letter: 'w',
    limit: fixedWindow({ limit: 10, window: ms, from: 'first-request' }),
    format: pair,
    used: counted,
    neededUntil: timeOf,
  },
  {
    name: 'a sliding window',
    letter: 's',
    limit: slidingWindow({ limit: 10, window }),
    format: /^\d+:0:\d{16}$/,
    used: leading,
    neededUntil: (state) => endOf(state) + Number(window) * us,
  },
  {
    name: 'a log',
    letter: 'l',
    limit: slidingLog({ limit: 10, window: ms }),
    // L, the total in 7 bytes, and 12 bytes for each request.

    format: /^L[\x00-\xff]{7}([\x00-\xff]{12})+$/,
    used: (state) => wholeAt(bytesOf(state), 1, 8),
    neededUntil: (state) => wholeAt(bytesOf(state), state.length - 12, state.length - 5) + ms * us,
  },
  { name: 'a quota', letter: 'q', limit: quota({ limit: 10, period: 'year' }), format: pair, used: counted, neededUntil: timeOf },
  {
    name: 'a concurrency limit',
    letter: 'c',
    limit: concurrency({ limit: 10, expires: ms }),
    format: /^C([\w-]+:\d{16}:\d+,)+$/,
    used: (state) => holdersOf(state).reduce((sum, [, , cost]) => sum + cost, 0),
    neededUntil: (state) => Math.max(...holdersOf(state).map(([, until]) => until)),
  },
  {
    name: 'a count of failures',
    letter: 'a',
    limit: consecutiveFailures({ limit: 10, free: 9, longestWait: '1m', forget: ms }),
    // A pair of the last attempt's time and the count, and the first attempt's time in 7 bytes.
    format: /^[\x00-\x1f][\x00-\xff]{11}[\x00-\x1f][\x00-\xff]{6}$/,
    used: (state) => counted(state.slice(0, 12)),
    neededUntil: (state) => timeOf(state.slice(0, 12)) + ms * us,
  },
];

/** Never dropped before its time, and not long after it; the script reads its clock a moment after Redis read its own. */
function expectTtlUntil({ expiresAt }: Stored, neededUntil: number): void {
  expect(expiresAt - neededUntil).toBeGreaterThanOrEqual(-1 * us);
  expect(expiresAt - neededUntil).toBeLessThanOrEqual(5 * us);
}

describe.each(kinds.map((kind) => [kind.name, kind] as const))('%s in Redis', (_name, { letter, limit, format, used, neededUntil }) => {
  const key = `hg:2{key}${letter}:rule`;
  const target = { rule: 'rule', key: 'key', kinds: [limit.kind] };
  let holders = 0;

  async function take(cost: number, more?: Partial<Check>): Promise<{ allowed: boolean; receipt: Receipt | undefined; now: number }> {
    const holder = limit.kind === 'concurrency' ? { holder: `h-${(holders += 1)}` } : undefined;
    const check: Check = { rule: 'rule', key: 'key', limit, cost, ...holder, ...more };
    const decided = await redis.store.decide({ checks: [check] });
    const [outcome] = decided.outcomes;
    if (outcome === undefined) throw new Error('no outcome');
    return { allowed: outcome.allowed, receipt: receiptOf(check, outcome, decided), now: decided.now };
  }

  async function taken(cost: number): Promise<Receipt> {
    const { receipt } = await take(cost);
    if (receipt === undefined) throw new Error('nothing was taken');
    return receipt;
  }

  async function expectState(units: number): Promise<Stored> {
    const found = await present(key);
    expect(found.state).toMatch(format);
    // A bucket's units flow back as time passes, one in a minute; given back are only those that have not.
    const slack = limit.kind === 'tokenBucket' ? 0.2 : 0.001;
    expect(used(found.state)).toBeGreaterThan(units - slack);
    expect(used(found.state)).toBeLessThan(units + slack);
    return found;
  }

  it('is one key, whose TTL is what the state needs, after each check that takes', async () => {
    for (const units of [3, 6, 9]) {
      await take(3);
      const found = await expectState(units);
      expect(found.bannedUntil).toBe(0);
      expectTtlUntil(found, neededUntil(found.state));
    }
    expect(await redis.client.keys('*')).toEqual([key]);
  });

  it('is not written, created or prolonged by what takes nothing', async () => {
    await redis.store.decide({ checks: [{ rule: 'rule', key: 'key', limit, cost: 1, holder: 'peek' }], dry: true });
    expect((await take(11)).allowed).toBe(false);
    expect(await stored(key)).toBeUndefined();
    await take(10);
    const before = await present(key);
    expect((await take(1)).allowed).toBe(false);
    await redis.store.decide({ checks: [{ rule: 'rule', key: 'key', limit, cost: 1, holder: 'peek' }], dry: true });
    const after = await present(key);
    expect(after.state).toBe(before.state);
    expect(Math.abs(after.expiresAt - before.expiresAt)).toBeLessThanOrEqual(3 * us);
  });

  it('keeps its TTL, and its form, when units are given back', async () => {
    const receipt = await taken(6);
    if (limit.kind !== 'concurrency') await take(2);
    const before = await present(key);
    const units = limit.kind === 'concurrency' ? 6 : 4;
    expect(Math.round(await redis.store.giveBack({ receipt, units }))).toBe(units);
    const after = await present(key);
    expect(Math.abs(after.expiresAt - before.expiresAt)).toBeLessThanOrEqual(3 * us);
    if (limit.kind === 'concurrency') expect(after.state).toBe('C');
    else await expectState(4);
    await redis.store.giveBack({ receipt, units: 2 });
    await redis.store.reset(target);
    expect(await redis.store.giveBack({ receipt, units: 1 })).toBe(0);
    expect(await redis.client.keys('*')).toEqual([]);
  });

  it('a mark that a receipt was given back lasts as long as it could return anything', async () => {
    const receipt = await taken(3);
    await redis.store.giveBack({ receipt, units: 3, onceId: 'once' });
    const mark = await present('hg:2{key}1:once');
    expect(mark.state).toBe('1');
    expectTtlUntil(mark, returnableUntil(receipt));
    expect(await redis.store.claim(receipt, 'claimed')).toBe(true);
    const claimed = await present('hg:2{key}1:claimed');
    // By this process's idea of Redis's clock.
    expect(claimed.expiresAt).toBeGreaterThan(returnableUntil(receipt) - 20 * us);
    expect(claimed.expiresAt).toBeLessThan(returnableUntil(receipt) + 1000 * us);
  });

  it('holds a ban in the same value, for as long as the ban or the state needs', async () => {
    await take(3);
    const before = await present(key);
    for (const bannedFor of [1_000_000, 60 * 24 * 366 * minute]) {
      await redis.store.ban(target, bannedFor);
      const banned = await present(key);
      expect(banned.state).toBe(before.state);
      expectTtlUntil(banned, Math.max(banned.bannedUntil, neededUntil(banned.state)));
    }
    const banned = await present(key);
    expect((await take(1)).allowed).toBe(false);
    expect((await present(key)).state).toBe(before.state);
    await redis.store.reset(target);
    const reset = await present(key);
    expect(reset.state).toBe('');
    expect(reset.bannedUntil).toBe(banned.bannedUntil);
    expectTtlUntil(reset, reset.bannedUntil);
    await redis.store.unban(target);
    expect(await stored(key)).toBeUndefined();
  });

  it('of a key without a state holds the ban alone, and after the ban the state again', async () => {
    await redis.store.ban(target, minute);
    const banned = await present(key);
    expect(banned.state).toBe('');
    expectTtlUntil(banned, banned.bannedUntil);
    await redis.store.unban(target);
    await take(3);
    await redis.store.ban(target, 1000 * us);
    await redis.store.unban(target);
    const found = await expectState(3);
    expectTtlUntil(found, neededUntil(found.state));
    expect(await stored('hg:2{key}1:once')).toBeUndefined();
  });

  it('is gone after a reset', async () => {
    await take(3);
    await redis.store.reset(target);
    expect(await redis.client.keys('*')).toEqual([]);
  });

  if (limit.kind === 'concurrency') {
    it('lasts until the last holder expires, also after an extension', async () => {
      const first = await taken(1);
      const second = await taken(2);
      await redis.client.pexpire(key, 100_000);
      expect(await redis.store.extend(first)).toBe(true);
      const found = await expectState(3);
      expectTtlUntil(found, neededUntil(found.state));
      expect(holdersOf(found.state).map(([id]) => id)).toEqual([first.holder, second.holder]);
      const [extended, other] = holdersOf(found.state).map(([, until]) => until);
      expect(extended).toBeGreaterThan(other ?? 0);
      await redis.store.ban(target, 60 * 24 * minute);
      expect(await redis.store.extend(second)).toBe(true);
      const banned = await present(key);
      expectTtlUntil(banned, banned.bannedUntil);
      expect(await redis.store.extend({ ...first, holder: 'nobody' })).toBe(false);
    });
  } else if (limit.kind !== 'consecutiveFailures') {
    it('takes refused requests too where they count', async () => {
      await take(10);
      expect((await take(2, { countRefused: true })).allowed).toBe(false);
      const found = await present(key);
      expect(found.state).toMatch(format);
      expectTtlUntil(found, neededUntil(found.state));
      // A log holds what can still refuse somebody, and no more.
      expect(Math.round(used(found.state))).toBe(12);
    });
  }
});

describe('a state of the previous sliding window', () => {
  it('is carried over, with the TTL of two windows', async () => {
    const limit = slidingWindow({ limit: 10, window: '500ms' });
    const check: Check = { rule: 'rule', key: 'key', limit, cost: 1 };
    await redis.store.decide({ checks: [check] });
    const { state } = await present('hg:2{key}s:rule');
    await expect
      .poll(async () => {
        await redis.store.decide({ checks: [check] });
        return (await present('hg:2{key}s:rule')).state.split(':')[2];
      })
      .not.toBe(state.split(':')[2]);
    const after = await present('hg:2{key}s:rule');
    const [current, previous, end] = after.state.split(':').map(Number);
    expect(current).toBeGreaterThan(0);
    expect(previous).toBeGreaterThan(0);
    expectTtlUntil(after, (end ?? 0) + 500_000);
  });
});

describe('a count of failures', () => {
  const limit = consecutiveFailures({ limit: 10, free: 9 });
  const key = 'hg:2{key}a:rule';
  const target = { rule: 'rule', key: 'key', kinds: [limit.kind] };
  const check: Check = { rule: 'rule', key: 'key', limit, cost: 1 };

  async function attempt(): Promise<Receipt> {
    const decided = await redis.store.decide({ checks: [check] });
    const receipt = decided.outcomes[0] && receiptOf(check, decided.outcomes[0], decided);
    if (receipt === undefined) throw new Error('nothing was taken');
    return receipt;
  }

  it('knows when its first and its last attempt began, and lasts 400 days from the last', async () => {
    const first = await attempt();
    const last = await attempt();
    const found = await present(key);
    const state = bytesOf(found.state);
    expect(wholeAt(state, 0, 7)).toBe(last.takenAt);
    expect(wholeAt(state, 12, 19)).toBe(first.takenAt);
    expect(last.takenAt).toBeGreaterThan(first.takenAt);
    expectTtlUntil(found, last.takenAt + 400 * 24 * 60 * minute);
  });

  it('is gone with a success, or with its last attempt, and marks nothing for a success', async () => {
    await attempt();
    expect(await redis.store.giveBack({ receipt: await attempt(), units: 1, forget: true })).toBe(2);
    expect(await redis.client.keys('*')).toEqual([]);
    expect(await redis.store.giveBack({ receipt: await attempt(), units: 1 })).toBe(1);
    expect(await redis.client.keys('*')).toEqual([]);
  });

  it('leaves the ban, and its TTL, to a banned key', async () => {
    const receipt = await attempt();
    await redis.store.ban(target, minute);
    await redis.store.giveBack({ receipt, units: 1, forget: true });
    const banned = await present(key);
    expect(banned.state).toBe('');
    expectTtlUntil(banned, banned.bannedUntil);
    await redis.store.unban(target);
    expect(await redis.client.keys('*')).toEqual([]);
  });

  it('an attempt is marked as taken back for a day, however long it counts', async () => {
    const receipt = await attempt();
    await attempt();
    await redis.store.giveBack({ receipt, units: 1, onceId: 'once' });
    expectTtlUntil(await present('hg:2{key}1:once'), receipt.takenAt + 24 * 60 * minute);
  });

  it.each(['', 'x'.repeat(19), '!', 'hello', '\x00'.repeat(12), '\x00'.repeat(20)])(
    'is never read out of something else: %j',
    async (text) => {
      await redis.client.set(key, text);
      const receipt = { rule: 'rule', key: 'key', limit, taken: 1, takenAt: Date.now() * us, degraded: false };
      if (text !== '') await expect(redis.store.decide({ checks: [check] })).rejects.toMatchObject({ code: 'HEADGATE_FOREIGN_VALUE' });
      expect(await redis.store.giveBack({ receipt, units: 1, forget: true })).toBe(0);
      expect(await redis.client.get(key)).toBe(text);
    },
  );
});
