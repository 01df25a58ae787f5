import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consecutiveFailuresAlgorithm as algorithm, type AttemptsState } from '../src/algorithms/consecutive-failures.js';
import { consecutiveFailures, type ConsecutiveFailuresLimit } from '../src/limit.js';
import { memoryUnderTest, redisUnderTest } from './support/stores.js';

const ms = 1000;
const limits = fc
  .record({
    limit: fc.integer({ min: 1, max: 12 }),
    free: fc.integer({ min: 0, max: 6 }),
    firstWait: fc.integer({ min: 1, max: 50 }),
    longest: fc.integer({ min: 0, max: 500 }),
    more: fc.integer({ min: 0, max: 500 }),
  })
  .map(({ limit, free, firstWait, longest, more }) =>
    consecutiveFailures({ limit, free, firstWait, longestWait: firstWait + longest, forget: firstWait + longest + more }),
  );
const steps = fc.array(
  fc.record({
    wait: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 100 * ms }), fc.integer({ min: 0, max: 1000 * ms })),
    attempts: fc.integer({ min: 1, max: 4 }),
    success: fc.boolean(),
  }),
  { maxLength: 40 },
);

/** The rule as it reads, over the times of all attempts since the last success: no arithmetic in common with the algorithm. */
function mayBegin(
  { limit, free, firstWaitUs, longestWaitUs, forgetUs }: ConsecutiveFailuresLimit,
  attempts: readonly number[],
  now: number,
) {
  const last = attempts.at(-1);
  if (last === undefined || now - last >= forgetUs) return { forgotten: true, may: true };
  if (attempts.length >= limit) return { forgotten: false, may: false };
  let wait = 0;
  for (let failure = 1; failure <= attempts.length; failure += 1)
    if (failure > free) wait = wait === 0 ? firstWaitUs : Math.min(longestWaitUs, wait * 2);
  return { forgotten: false, may: now - last >= wait };
}

const check = (stored: AttemptsState | undefined, limit: ConsecutiveFailuresLimit, now: number) => {
  const state = algorithm.current(stored, limit, now);
  const step = algorithm.take({ state, limit, now, cost: 1 });
  const view = algorithm.view({ state: step.state, limit, now, cost: 1 });
  return { ...step, ...algorithm.describe({ view, limit, now, cost: 1 }) };
};

describe('consecutive failures', () => {
  it('begin exactly when the rule says so, attempt by attempt', () => {
    let begun = 0;
    let refused = 0;
    fc.assert(
      fc.property(limits, steps, (limit, rows) => {
        let stored: AttemptsState | undefined;
        let attempts: number[] = [];
        let now = 1_767_225_600_000_000;
        for (const { wait, attempts: asked, success } of rows) {
          now += wait;
          for (let i = 0; i < asked; i += 1) {
            const { forgotten, may } = mayBegin(limit, attempts, now);
            if (forgotten) attempts = [];
            const step = check(stored, limit, now);
            expect(step.allowed).toBe(may);
            if (may) {
              attempts.push(now);
              begun += 1;
            } else refused += 1;
            expect(step.failures).toBe(attempts.length);
            stored = step.state;
          }
          if (success && stored !== undefined && attempts.length > 0) {
            const receipt = { rule: '', key: '', limit, taken: 1, takenAt: now, degraded: false };
            const back = algorithm.giveBack({ stored, receipt, now, units: 1, forget: true });
            expect(back.returned).toBe(attempts.length);
            stored = back.state;
            attempts = [];
          }
        }
      }),
      { numRuns: 5000 },
    );
    expect(Math.min(begun, refused)).toBeGreaterThan(10_000);
  });

  it('pass as many at an instant as remain, and a retry after the wait that is named, and not before', () => {
    fc.assert(
      fc.property(limits, steps, fc.integer({ min: 1, max: 8 }), (limit, rows, cost) => {
        let stored: AttemptsState | undefined;
        let now = 1_767_225_600_000_000;
        for (const { wait, attempts } of rows) {
          now += wait;
          for (let i = 0; i < attempts; i += 1) stored = check(stored, limit, now).state;
        }
        const take = (at: number, units: number) =>
          algorithm.take({ state: algorithm.current(stored, limit, at), limit, now: at, cost: units }).allowed;
        const view = algorithm.view({ state: algorithm.current(stored, limit, now), limit, now, cost });
        const { remaining, retryAfterUs, resetAfterUs } = algorithm.describe({ view, limit, now, cost });
        expect([remaining === 0 || take(now, remaining), take(now, remaining + 1)]).toEqual([true, false]);
        const full = Math.min(limit.limit, limit.free + 1);
        expect(take(now + resetAfterUs, full)).toBe(true);
        if (retryAfterUs === Number.POSITIVE_INFINITY) expect(cost).toBeGreaterThan(full);
        else expect(take(now + retryAfterUs, cost)).toBe(true);
        if (retryAfterUs > 0 && retryAfterUs !== Number.POSITIVE_INFINITY) expect(take(now + retryAfterUs - 1, cost)).toBe(false);
      }),
      { numRuns: 5000 },
    );
  });

  it('taken back count one less, from the last attempt that is known, and never open more than if they had not been', () => {
    fc.assert(
      fc.property(limits, steps, fc.nat(), fc.nat(1000 * ms), (limit, rows, seed, later) => {
        const begun: number[] = [];
        let stored: AttemptsState | undefined;
        let now = 1_767_225_600_000_000;
        for (const { wait, attempts } of rows) {
          now += wait;
          for (let i = 0; i < attempts; i += 1) {
            const step = check(stored, limit, now);
            if (step.failures === 1 && step.allowed) begun.length = 0;
            if (step.allowed) begun.push(now);
            stored = step.state;
          }
        }
        const takenAt = begun[seed % Math.max(1, begun.length)];
        if (takenAt === undefined || stored === undefined) return;
        const receipt = { rule: '', key: '', limit, taken: 1, takenAt, degraded: false };
        const { state, returned } = algorithm.giveBack({ stored, receipt, now, units: 1 });
        if (returned === 0) return;
        expect(state).toMatchObject({ count: begun.length - 1, last: stored.last });
        // As the rule has it for the attempts that are left, the last of which cannot have been later.
        const left = begun.toSpliced(begun.indexOf(takenAt), 1);
        const { may } = mayBegin(limit, left, now + later);
        expect(may || !check(state, limit, now + later).allowed).toBe(true);
      }),
      { numRuns: 5000 },
    );
  });

  it('wait no longer than the longest wait, however many there are', () => {
    const limit = consecutiveFailures({ limit: 100_000, free: 0, firstWait: '30s', longestWait: '1h' });
    for (const count of [8, 50, 1075, 99_999]) {
      const state = { count, last: 0, first: 0 };
      expect(algorithm.take({ state, limit, now: 3_600_000_000 - 1, cost: 1 }).allowed).toBe(false);
      expect(algorithm.take({ state, limit, now: 3_600_000_000, cost: 1 }).allowed).toBe(true);
    }
  });

  it('that lie in the future, as the clock went back, happened now', () => {
    const limit = consecutiveFailures({ free: 0 });
    const ahead = { count: 1, last: 90_000_000, first: 80_000_000 };
    expect(algorithm.overreaches(ahead, limit, 10_000_000)).toBe(true);
    expect(algorithm.current(ahead, limit, 10_000_000)).toEqual({ count: 1, last: 10_000_000, first: 10_000_000 });
  });
});

for (const tested of [memoryUnderTest, redisUnderTest()]) {
  describe(`consecutive failures in the ${tested.name} store, whose clock goes back a day`, () => {
    beforeAll(() => tested.start());
    afterAll(() => tested.stop());

    it('wait from then on, as if the last attempt had just begun, and not a day longer', async () => {
      const { store, advance } = await tested.fresh();
      const limit = consecutiveFailures({ free: 0 });
      const check = async () => (await store.decide({ checks: [{ rule: 'login', key: 'ada', limit, cost: 1 }] })).outcomes[0];
      const seconds = (count: number) => advance(count * 1_000_000);
      await check();
      await seconds(-86_400);
      expect(await check()).toMatchObject({ allowed: false, retryAfterUs: 30_000_000, failures: 1 });
      await seconds(20);
      expect(await check()).toMatchObject({ allowed: false, retryAfterUs: 10_000_000 });
      await seconds(10);
      expect(await check()).toMatchObject({ allowed: true, failures: 2 });
    });
  });
}
