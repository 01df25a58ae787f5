import assert from 'node:assert/strict';
import { concurrency, fixedWindow, quota, slidingLog, slidingWindow, tokenBucket } from '../limit.js';
import { verbs, type StoreCase, type Verbs } from './harness.js';

function storeCase(name: string, run: (verbs: Verbs) => Promise<void>): StoreCase {
  return { name, run: (harness) => run(verbs(harness)) };
}

const bucket = tokenBucket({ capacity: 20, refill: '2/s' });
const perMinute = fixedWindow({ limit: 5, window: '1m' });

/** Giving back, settling, holders, changed limits, bans and resets. */
export const undoingCases: readonly StoreCase[] = [
  storeCase('units given back at once are there again', async ({ one, giveBack, remaining }) => {
    for (const limit of [bucket, perMinute, slidingWindow({ limit: 5, window: '1m' }), slidingLog({ limit: 5, window: '1m' })]) {
      const before = await remaining(limit);
      const { receipt } = await one(limit, { cost: 5 });
      assert.equal(await giveBack(receipt, { units: 3 }), 3);
      assert.equal(await remaining(limit), before - 2);
    }
  }),
  storeCase('into a bucket come at most the units that have not flowed back by themselves', async ({ one, giveBack, passing, seconds }) => {
    const { receipt } = await one(bucket, { cost: 20 });
    await seconds(10);
    assert.equal(await passing(20, bucket), 20);
    assert.equal(await giveBack(receipt), 0);
    assert.equal(await passing(1, bucket), 0);
  }),
  storeCase('a turn in the future is given back only while none was taken after it', async ({ one, giveBack }) => {
    const limit = tokenBucket({ capacity: 1, refill: '1/s' });
    const turn = async (): Promise<Awaited<ReturnType<typeof one>>> => one(limit, { aheadUs: 60_000_000 });
    const now = await turn();
    const second = await turn();
    const third = await turn();
    assert.equal(await giveBack(second.receipt), 0);
    assert.equal(await giveBack(now.receipt), 0);
    assert.equal(await giveBack(third.receipt), 1);
    assert.equal((await turn()).waitUs, 2_000_000);
  }),
  storeCase('into a window units come back only while it lasts', async ({ one, giveBack, remaining, seconds }) => {
    const { receipt } = await one(perMinute, { cost: 5 });
    await seconds(60);
    await one(perMinute, { cost: 2 });
    assert.equal(await giveBack(receipt), 0);
    assert.equal(await remaining(perMinute), 3);
  }),
  storeCase('what is used of a window falls no lower by a give-back than it says', async ({ one, giveBack, remaining }) => {
    for (const limit of [perMinute, quota({ limit: 5, period: 'month' })]) {
      const { receipt } = await one(limit, { cost: 5 });
      await one(limit, { cost: 4, least: 0 });
      assert.equal(await giveBack(receipt, { units: 9_000, downTo: 9 }), 0);
      assert.equal(await giveBack(receipt, { units: 9_000, downTo: 3 }), 6);
      assert.equal(await giveBack(receipt, { units: 9_000, downTo: 3 }), 0);
      assert.equal(await remaining(limit), 2);
      assert.equal(await giveBack(receipt, { units: 1, downTo: 1 }), 1);
      assert.equal(await remaining(limit), 3);
    }
  }),
  storeCase('from a log units come back only from the request that took them', async ({ one, giveBack, remaining, seconds }) => {
    const log = slidingLog({ limit: 5, window: '10s' });
    const { receipt } = await one(log, { cost: 2 });
    await seconds(5);
    await one(log, { cost: 3 });
    await seconds(5);
    assert.equal(await giveBack(receipt), 0);
    assert.equal(await remaining(log), 2);
  }),
  storeCase('nothing is given back to a key that is gone', async ({ one, giveBack, remaining, seconds, store, target }) => {
    const { receipt } = await one(bucket);
    await store.reset(target(bucket));
    assert.equal(await giveBack(receipt), 0);
    const late = await one(perMinute);
    await seconds(61);
    assert.equal(await giveBack(late.receipt), 0);
    assert.equal(await remaining(perMinute), 5);
  }),
  storeCase('an id is honoured once, for giving back and for charging', async ({ one, giveBack, remaining, store }) => {
    const { receipt } = await one(perMinute, { cost: 2 });
    await one(perMinute, { cost: 2 });
    assert.equal(await giveBack(receipt, { onceId: 'id1' }), 2);
    assert.equal(await giveBack(receipt, { onceId: 'id1' }), 0);
    assert.equal(await remaining(perMinute), 3);
    if (receipt === undefined) throw new Error('nothing was taken');
    assert.deepEqual(
      [await store.claim(receipt, 'id1'), await store.claim(receipt, 'id2'), await store.claim(receipt, 'id2')],
      [false, true, false],
    );
  }),
  storeCase('a settle charges whatever happens: into debt, until that has flowed back', async ({ one, seconds }) => {
    const limit = tokenBucket({ capacity: 100, refill: '100/m' });
    await one(limit, { cost: 100 });
    assert.equal((await one(limit, { cost: 150, least: 0 })).taken, 150);
    const refused = await one(limit);
    assert.deepEqual([refused.allowed, refused.remaining, refused.retryAfterUs], [false, 0, 90_600_000]);
    await seconds(90.6);
    assert.equal((await one(limit)).allowed, true);
  }),
  storeCase('debt has a cap, so that no client is locked out for ever', async ({ one }) => {
    const limit = tokenBucket({ capacity: 10, refill: '1/s' });
    await one(limit, { cost: 1_000_000, least: 0 });
    assert.equal((await one(limit)).retryAfterUs, 91_000_000);
  }),
  storeCase('a holder is released once, and extended only while it holds', async ({ one, giveBack, store, seconds, remaining }) => {
    const limit = concurrency({ limit: 2, expires: '10s' });
    const first = await one(limit, { holder: 'a' });
    await one(limit, { holder: 'b' });
    assert.equal((await one(limit, { holder: 'c' })).allowed, false);
    assert.equal(await giveBack(first.receipt), 1);
    assert.equal(await giveBack(first.receipt), 0);
    const third = await one(limit, { holder: 'c' });
    if (first.receipt === undefined || third.receipt === undefined) throw new Error('nothing was taken');
    await seconds(9);
    assert.equal(await store.extend(third.receipt), true);
    assert.equal(await store.extend(first.receipt), false);
    await seconds(9);
    assert.equal(await remaining(limit), 1, 'b has expired, c was extended');
    await seconds(1);
    assert.equal(await store.extend(third.receipt), false);
  }),
  storeCase('a raised limit lets exactly the difference pass', async ({ passing }) => {
    assert.equal(await passing(50, fixedWindow({ limit: 10, window: '1h' })), 10);
    assert.equal(await passing(50, fixedWindow({ limit: 20, window: '1h' })), 10);
  }),
  storeCase('a window shortened from a day to a minute blocks nobody for a day', async ({ passing, one, seconds }) => {
    for (const from of ['epoch', 'first-request'] as const) {
      const minute = fixedWindow({ limit: 5, window: '1m', from });
      assert.equal(await passing(5, fixedWindow({ limit: 5, window: '1d', from }), { rule: from }), 5);
      assert.equal((await one(minute, { rule: from })).retryAfterUs, 60_000_000);
      await seconds(60);
      assert.equal((await one(minute, { rule: from })).allowed, true);
    }
  }),
  storeCase('units used carry over to a changed bucket', async ({ passing, one, seconds, remaining }) => {
    assert.equal(await passing(1000, tokenBucket({ capacity: 1000, refill: '1000/d' })), 1000);
    const changed = tokenBucket({ capacity: 100, refill: '10/s' });
    assert.equal((await one(changed)).retryAfterUs, 90_100_000);
    await seconds(90.1);
    assert.equal((await one(changed)).allowed, true);
    assert.equal(await passing(10, tokenBucket({ capacity: 20, refill: '20/s' }), { key: 'half' }), 10);
    assert.equal(await remaining(tokenBucket({ capacity: 20, refill: '2/m' }), { key: 'half' }), 10);
  }),
  storeCase(
    'a banned key is refused until the ban ends or is lifted; a reset lifts no ban',
    async ({ one, store, target, seconds, remaining }) => {
      await one(bucket, { cost: 5 });
      await store.ban(target(bucket), 60_000_000);
      const banned = await one(bucket);
      assert.deepEqual([banned.allowed, banned.reason, banned.remaining, banned.retryAfterUs], [false, 'banned', 0, 60_000_000]);
      await store.reset(target(bucket));
      assert.equal((await one(bucket)).reason, 'banned');
      assert.equal((await one(bucket, { key: 'other' })).allowed, true);
      await seconds(60);
      assert.equal((await one(bucket)).allowed, true);
      await store.ban(target(perMinute), 3_600_000_000);
      await store.unban(target(perMinute));
      assert.equal(await remaining(perMinute), 5);
    },
  ),
  storeCase('a ban keeps the units used', async ({ one, store, target, seconds, remaining }) => {
    const slow = fixedWindow({ limit: 5, window: '1h' });
    await one(slow, { cost: 4 });
    await store.ban(target(slow), 1_000_000);
    await seconds(1);
    assert.equal(await remaining(slow), 1);
  }),
  storeCase('a reset gives exactly that key its full budget', async ({ one, store, target, remaining }) => {
    await one(bucket, { cost: 5 });
    await one(bucket, { cost: 5, key: 'other' });
    await store.reset(target(bucket));
    assert.deepEqual([await remaining(bucket), await remaining(bucket, { key: 'other' })], [20, 15]);
  }),
  storeCase('pairs of rule and key never meet', async ({ one, remaining }) => {
    const pairs = [
      ['a', 'bc'],
      ['ab', 'c'],
      ['a', 'b:c'],
      ['a:b', 'c'],
      ['a', 'b}c'],
      ['a}', '{c'],
      ['a', 'x'.repeat(500)],
      ['a', `${'x'.repeat(500)}y`],
      ['a', 'ü'],
      ['a', '%C3%BC'],
    ];
    for (const [rule = '', key = ''] of pairs) {
      assert.equal(await remaining(perMinute, { rule, key }), 5, `${rule} ${key.slice(0, 20)}`);
      await one(perMinute, { rule, key });
    }
  }),
];
