import assert from 'node:assert/strict';
import { consecutiveFailures, fixedWindow } from '../limit.js';
import { verbs, type StoreCase, type Verbs } from './harness.js';

function storeCase(name: string, run: (verbs: Verbs) => Promise<void>): StoreCase {
  return { name, run: (harness) => run(verbs(harness)) };
}

const login = consecutiveFailures({ limit: 10, free: 2, firstWait: '30s', longestWait: '1h', forget: '30d' });
const day = 86_400;

/** Consecutive failures: what parallel attempts, successes and aborted attempts do. */
export const attemptCases: readonly StoreCase[] = [
  storeCase('of 50 guesses at once one passes where one may, and three where three may', async ({ check, group, seconds }) => {
    const guesses = async (): Promise<number> => {
      const asked = Array.from({ length: 50 }, () => group([check(login)]));
      return (await Promise.all(asked)).filter(({ allowed }) => allowed).length;
    };
    assert.equal(await guesses(), 3);
    for (const wait of [30, 60, 120]) {
      assert.equal(await guesses(), 0);
      await seconds(wait);
      assert.equal(await guesses(), 1);
    }
  }),
  storeCase('guesses sent together as one group count each, all or none', async ({ check, group, remaining }) => {
    const together = (count: number) => group(Array.from({ length: count }, () => check(login)));
    assert.equal((await together(4)).allowed, false);
    assert.equal(await remaining(login), 3);
    assert.equal((await together(3)).allowed, true);
    assert.equal(await remaining(login), 0);
  }),
  storeCase('a success answers how many failures it forgot, and forgets once', async ({ one, giveBack, seconds, remaining }) => {
    const first = await one(login);
    const second = await one(login);
    assert.equal(await giveBack(second.receipt, { forget: true }), 2);
    assert.equal(await remaining(login), 3);
    await seconds(0.000001);
    await one(login);
    // Both began before the count that is there now.
    assert.equal(await giveBack(second.receipt, { forget: true }), 0);
    assert.equal(await giveBack(first.receipt, { forget: true }), 0);
    assert.equal(await giveBack(first.receipt), 0);
    assert.equal(await remaining(login), 2);
  }),
  storeCase('a success forgets what began before it and after it, also when another failed meanwhile', async (verbs) => {
    const { one, giveBack, seconds, remaining } = verbs;
    await one(login);
    const own = await one(login);
    await one(login);
    await seconds(30);
    await one(login);
    assert.equal(await giveBack(own.receipt, { forget: true }), 4);
    assert.equal(await remaining(login), 3);
  }),
  storeCase('an aborted attempt comes back for a day, and once for each id', async ({ one, giveBack, seconds }) => {
    const [first, second, third] = [await one(login), await one(login), await one(login)];
    assert.equal(await giveBack(first.receipt, { onceId: 'a' }), 1);
    assert.equal(await giveBack(first.receipt, { onceId: 'a' }), 0);
    await seconds(day - 1);
    assert.equal(await giveBack(second.receipt), 1);
    await seconds(1);
    assert.equal(await giveBack(third.receipt), 0);
    assert.equal((await one(login)).failures, 2);
    assert.equal(await giveBack(third.receipt, { forget: true }), 2);
  }),
  storeCase('nothing comes back from what was forgotten by itself', async ({ one, giveBack, seconds, remaining }) => {
    const short = consecutiveFailures({ free: 0, firstWait: '1s', longestWait: '10s', forget: '1m' });
    const old = await one(short);
    await seconds(60);
    assert.equal(await giveBack(old.receipt), 0);
    assert.equal(await giveBack(old.receipt, { forget: true }), 0);
    await one(short);
    assert.equal(await giveBack(old.receipt), 0);
    assert.equal(await remaining(short), 0);
  }),
  storeCase('a group is refused whole by a wait, and takes back its attempt where another rule refuses', async (verbs) => {
    const { check, group, one, remaining } = verbs;
    const perIp = fixedWindow({ limit: 1, window: '1h' });
    const both = () => group([check(login, { rule: 'login' }), check(perIp, { rule: 'ip' })]);
    assert.equal((await both()).allowed, true);
    const refused = await both();
    assert.deepEqual(
      refused.outcomes.map(({ allowed, taken, failures }) => [allowed, taken, failures]),
      [
        [true, 0, 1],
        [false, 0, undefined],
      ],
    );
    await one(login, { rule: 'login', cost: 2 });
    const waiting = await group([check(login, { rule: 'login' }), check(perIp, { rule: 'other' })]);
    assert.deepEqual([waiting.allowed, waiting.outcomes[0]?.retryAfterUs], [false, 30_000_000]);
    assert.equal(await remaining(perIp, { rule: 'other' }), 1);
  }),
  storeCase('a success lifts no ban, and a ban forgets no failure', async ({ one, giveBack, store, target, seconds, remaining }) => {
    const { receipt } = await one(login, { cost: 2 });
    await store.ban(target(login), 60_000_000);
    const banned = await one(login);
    assert.deepEqual([banned.allowed, banned.reason, banned.retryAfterUs], [false, 'banned', 60_000_000]);
    await seconds(60);
    assert.equal(await remaining(login), 1);
    await store.ban(target(login), 60_000_000);
    assert.equal(await giveBack(receipt, { forget: true }), 2);
    assert.equal((await one(login)).reason, 'banned');
    await store.unban(target(login));
    assert.equal(await remaining(login), 3);
  }),
  storeCase('what is charged whatever happens counts as failed now', async ({ one, seconds }) => {
    await one(login);
    await seconds(5);
    const charged = await one(login, { cost: 4, least: 0 });
    assert.deepEqual([charged.allowed, charged.taken, charged.failures], [true, 4, 5]);
    assert.equal((await one(login)).retryAfterUs, 120_000_000);
    await one(login, { cost: 9_000_000_000, least: 0 });
    const closed = await one(login);
    assert.deepEqual([closed.failures, closed.retryAfterUs], [1_000_000, 30 * day * 1_000_000]);
  }),
  storeCase('of several attempts as many begin as may, where that is enough', async ({ one }) => {
    await one(login);
    const some = await one(login, { cost: 5, least: 1 });
    assert.deepEqual([some.allowed, some.taken, some.remaining], [true, 2, 0]);
    assert.equal((await one(login, { cost: 5, least: 1 })).allowed, false);
  }),
  storeCase('failures carry over to changed numbers', async ({ one, seconds, remaining }) => {
    await one(login, { cost: 3 });
    const strict = consecutiveFailures({ limit: 3, free: 2, forget: '30d' });
    assert.equal((await one(strict)).retryAfterUs, 30 * day * 1_000_000);
    const lax = consecutiveFailures({ limit: 10, free: 5, forget: '30d' });
    assert.equal(await remaining(lax), 3);
    const brief = consecutiveFailures({ limit: 3, free: 2, longestWait: '30s', forget: '1m' });
    await seconds(59);
    assert.equal(await remaining(brief), 0);
    await seconds(1);
    assert.equal(await remaining(brief), 3);
  }),
];
