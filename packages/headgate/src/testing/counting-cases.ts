import assert from 'node:assert/strict';
import {
  concurrency,
  consecutiveFailures,
  fixedWindow,
  quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type CountedLimit,
} from '../limit.js';
import { verbs, type StoreCase, type Verbs } from './harness.js';

function storeCase(name: string, run: (verbs: Verbs) => Promise<void>): StoreCase {
  return { name, run: (harness) => run(verbs(harness)) };
}

const bucket = tokenBucket({ capacity: 20, refill: '2/s' });
const perMinute = fixedWindow({ limit: 5, window: '1m' });
const everyKind = [
  tokenBucket({ capacity: 5, refill: '1/h' }),
  fixedWindow({ limit: 5, window: '1h' }),
  fixedWindow({ limit: 5, window: '1h', from: 'first-request' }),
  slidingWindow({ limit: 5, window: '1h' }),
  slidingLog({ limit: 5, window: '1h' }),
  quota({ limit: 5, period: 'month' }),
  concurrency({ limit: 5, expires: '1h' }),
  consecutiveFailures({ limit: 5, free: 4 }),
];

/** How many of 12 checks a minute pass, in each of ten minutes. */
async function asked12TimesAMinute({ one, seconds }: Verbs, limit: CountedLimit): Promise<number[]> {
  const minutes: number[] = [];
  for (let minute = 0; minute < 10; minute += 1) {
    let passed = 0;
    for (let i = 0; i < 12; i += 1) {
      if ((await one(limit)).allowed) passed += 1;
      await seconds(5);
    }
    minutes.push(passed);
  }
  return minutes;
}

/** Checks, groups, and what is refused. */
export const countingCases: readonly StoreCase[] = [
  ...everyKind.map((limit) =>
    storeCase(`1,000 checks at once of a ${limit.kind} of 5: exactly 5 pass`, async ({ check, group }) => {
      const asked = Array.from({ length: 1000 }, (_, i) => group([check(limit, { holder: `h${i}` })]));
      const passed = (await Promise.all(asked)).filter(({ allowed }) => allowed);
      assert.equal(passed.length, 5);
    }),
  ),
  ...everyKind.map((limit) =>
    storeCase(`a refused check of a ${limit.kind} takes nothing, so that a smaller one passes`, async ({ one }) => {
      const cost = async (units: number, holder: string): Promise<boolean> => (await one(limit, { cost: units, holder })).allowed;
      assert.deepEqual([await cost(3, 'a'), await cost(3, 'b'), await cost(2, 'c'), await cost(1, 'd')], [true, false, true, false]);
    }),
  ),
  storeCase('64 checks of one key sent together with capacity 20: 20 pass', async ({ check, group }) => {
    const decided = await Promise.all(Array.from({ length: 64 }, () => group([check(bucket)])));
    assert.equal(decided.filter(({ allowed }) => allowed).length, 20);
  }),
  storeCase('asked steadily above its limit, a bucket passes its rate and nobody is shut out', async (verbs) => {
    const minutes = await asked12TimesAMinute(verbs, tokenBucket({ capacity: 10, refill: '10/m' }));
    assert.ok(
      minutes.slice(6).every((passed) => passed === 10),
      `passed per minute: ${minutes.join(', ')}`,
    );
  }),
  storeCase('asked steadily above its limit, a sliding window passes its limit in each window', async (verbs) => {
    const minutes = await asked12TimesAMinute(verbs, slidingWindow({ limit: 10, window: '1m' }));
    assert.ok(
      minutes.slice(1).every((passed) => passed >= 9 && passed <= 11),
      `passed per minute: ${minutes.join(', ')}`,
    );
  }),
  storeCase('bucket 3, 3/s, a call each 100 ms for 10 s: 33 pass, and remaining never exceeds the limit', async ({ one, seconds }) => {
    let passed = 0;
    for (let i = 0; i < 100; i += 1) {
      const outcome = await one(tokenBucket({ capacity: 3, refill: '3/s' }));
      if (outcome.allowed) passed += 1;
      assert.ok(outcome.remaining <= 3);
      await seconds(0.1);
    }
    assert.ok(passed >= 32 && passed <= 33, `${passed} passed`);
  }),
  storeCase(
    'a group of 1 a minute and 100 a minute, asked 10 times: 1 passes, and the larger rule shows 1 used',
    async ({ check, group, remaining }) => {
      const one = fixedWindow({ limit: 1, window: '1m' });
      const hundred = fixedWindow({ limit: 100, window: '1m' });
      let passed = 0;
      for (let i = 0; i < 10; i += 1) {
        const decided = await group([check(one, { rule: 'one' }), check(hundred, { rule: 'hundred' })]);
        if (decided.allowed) passed += 1;
        else
          assert.deepEqual(
            decided.outcomes.map(({ allowed, taken }) => [allowed, taken]),
            [
              [false, 0],
              [true, 0],
            ],
          );
      }
      assert.equal(passed, 1);
      assert.equal(await remaining(hundred, { rule: 'hundred' }), 99);
    },
  ),
  storeCase('a special limit of 3 inside a limit of 10, asked 5 times: the wider one has 7 left', async ({ check, group, remaining }) => {
    const wide = fixedWindow({ limit: 10, window: '1m' });
    const special = fixedWindow({ limit: 3, window: '1m' });
    for (let i = 0; i < 5; i += 1) await group([check(wide, { rule: 'wide' }), check(special, { rule: 'special' })]);
    assert.equal(await remaining(wide, { rule: 'wide' }), 7);
  }),
  storeCase('a group that names one key twice needs both units', async ({ check, group, remaining }) => {
    const single = tokenBucket({ capacity: 1, refill: '1/s' });
    const decided = await group([check(single), check(single)]);
    assert.equal(decided.allowed, false);
    assert.equal(decided.outcomes[1]?.retryAfterUs, Number.POSITIVE_INFINITY);
    assert.equal(await remaining(single), 1);
    const double = tokenBucket({ capacity: 2, refill: '1/s' });
    const both = [check(double, { rule: 'double' }), check(double, { rule: 'double' })];
    assert.equal((await group(both)).allowed, true);
    const again = await group(both);
    assert.deepEqual([again.allowed, again.outcomes[1]?.retryAfterUs], [false, 2_000_000]);
  }),
  storeCase('a shadow check refuses no group, and takes only with it', async ({ check, group, remaining }) => {
    const none = fixedWindow({ limit: 0, window: '1m' });
    const shadow = check(none, { rule: 'shadow', shadow: true });
    const decided = await group([check(perMinute), shadow]);
    assert.deepEqual([decided.allowed, decided.outcomes.map(({ allowed }) => allowed)], [true, [true, false]]);
    const counting = check(perMinute, { rule: 'counting', shadow: true });
    assert.equal((await group([check(none, { rule: 'closed' }), counting])).allowed, false);
    assert.equal(await remaining(perMinute, { rule: 'counting' }), 5);
  }),
  storeCase('a look takes nothing, however often', async ({ remaining, check, group }) => {
    for (let i = 0; i < 100; i += 1) assert.equal(await remaining(perMinute), 5);
    assert.equal((await group([check(perMinute, { cost: 6 })], true)).allowed, false);
  }),
  storeCase('countRefused: refused requests take too, so a client that does not stop is not let in', async ({ one, seconds }) => {
    const limit = tokenBucket({ capacity: 2, refill: '1/s' });
    for (let i = 0; i < 10; i += 1) await one(limit, { countRefused: true });
    await seconds(2);
    assert.equal((await one(limit, { countRefused: true })).allowed, false, 'two units of debt are paid, nothing is left over');
    await seconds(4);
    assert.equal((await one(limit, { countRefused: true })).allowed, true);
  }),
  storeCase('countRefused in a refused group: its own units are taken, the others are not', async ({ check, group, remaining }) => {
    const none = fixedWindow({ limit: 0, window: '1m' });
    const counting = fixedWindow({ limit: 3, window: '1m' });
    await group([check(none, { rule: 'none' }), check(counting, { rule: 'counting', countRefused: true }), check(perMinute)]);
    assert.deepEqual([await remaining(counting, { rule: 'counting' }), await remaining(perMinute)], [2, 5]);
  }),
  storeCase('what is left is taken where that is enough', async ({ one }) => {
    await one(perMinute, { cost: 3 });
    const rest = await one(perMinute, { cost: 4, least: 1 });
    assert.deepEqual([rest.allowed, rest.taken, rest.remaining], [true, 2, 0]);
    const none = await one(perMinute, { cost: 4, least: 1 });
    assert.deepEqual([none.allowed, none.taken], [false, 0]);
  }),
  storeCase('a bucket gives a turn in the future, in the order asked', async ({ one }) => {
    const limit = tokenBucket({ capacity: 1, refill: '1/s' });
    const waits = [];
    for (let i = 0; i < 5; i += 1) waits.push((await one(limit, { aheadUs: 3_000_000 })).waitUs);
    assert.deepEqual(waits, [0, 1_000_000, 2_000_000, 3_000_000, undefined]);
  }),
];
