import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createLimiter,
  fixedWindow,
  tokenBucket,
  type CountedLimit,
  type Limiter,
  type Meeting,
  type Mode,
  type Store,
} from '../src/index.js';
import { fakeClock } from '../src/testing/index.js';
import { faultyStore } from './support/faulty-store.js';
import { turn } from './support/limiters.js';

const limits = {
  window: fixedWindow({ limit: 60, window: '1d' }),
  bucket: tokenBucket({ capacity: 60, refill: '1/s' }),
} satisfies Record<string, CountedLimit>;

interface Step {
  readonly process: number;
  readonly checks: number;
  readonly cost: number;
  readonly pauseMs: number;
  /** The rule's mode from now on, in all processes. */
  readonly mode: Mode | undefined;
}

const modesOf = (withSync: boolean) => fc.constantFrom<Mode>('exact', 'lease', 'auto', ...(withSync ? [{ sync: '1s' } as const] : []));

const stepsOf = (withSync: boolean): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.record({
      process: fc.nat({ max: 2 }),
      checks: fc.integer({ min: 1, max: 12 }),
      cost: fc.integer({ min: 1, max: 4 }),
      pauseMs: fc.constantFrom(0, 1, 10, 100, 700),
      mode: fc.option(modesOf(withSync), { nil: undefined, freq: 4 }),
    }),
    { minLength: 5, maxLength: 60 },
  );

/** Three processes over one store. Answers the units that passed, at what times, and what the store has left in the end. */
async function run(limit: CountedLimit, steps: readonly Step[]) {
  const clock = fakeClock();
  const { store: inner, shared } = faultyStore(clock);
  const members = new Set<string>();
  const meet = async ({ keys, member }: Meeting): Promise<number[]> => keys.map(() => members.add(member).size);
  const store: Store = { ...inner, meet };
  const make = () => createLimiter({ store, clock, deadline: '1s', fleetSize: 3, onEvent: () => undefined, rules: { api: { limit } } });
  const roots = [make(), make(), make()];
  let limiters: Limiter<'api'>[] = roots;
  const passed: { at: number; units: number }[] = [];
  const advance = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 50) {
      clock.advance(Math.min(50, left) * 1000);
      await turn();
    }
  };
  for (const { process, checks, cost, pauseMs, mode } of steps) {
    if (mode !== undefined) limiters = roots.map((root) => root.withRules({ api: { limit, mode } }));
    const decisions = await Promise.all(Array.from({ length: checks }, async () => limiters[process]?.check('api', 'key', { cost })));
    passed.push({ at: clock.nowUs(), units: decisions.filter((decision) => decision?.allowed).length * cost });
    await turn();
    await advance(pauseMs);
  }
  // Leases end, and totals are told.
  await advance(5000);
  const left = (await shared.decide({ checks: [{ rule: 'api', key: 'key', limit, cost: 1 }], dry: true })).outcomes[0]?.remaining;
  for (const root of roots) await root.close();
  return { passed, left, units: passed.reduce((sum, { units }) => sum + units, 0) };
}

describe('a rule whose mode changes while it runs', () => {
  it('between exact, lease and auto lets pass exactly its limit, and loses no count', async () => {
    await fc.assert(
      fc.asyncProperty(stepsOf(false), async (steps) => {
        const { units, left } = await run(limits.window, steps);
        expect(units).toBeLessThanOrEqual(60);
        expect(left).toBe(60 - units);
      }),
      { numRuns: 150 },
    );
  });

  it('of a bucket lets at most the capacity and what flows in pass from the start', async () => {
    await fc.assert(
      fc.asyncProperty(stepsOf(false), async (steps) => {
        const { passed } = await run(limits.bucket, steps);
        const from = passed[0]?.at ?? 0;
        let units = 0;
        for (const step of passed) {
          units += step.units;
          expect(units).toBeLessThanOrEqual(60 + (step.at - from) / 1e6);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('to sync and back stays within the bound of sync, and loses no count', async () => {
    await fc.assert(
      fc.asyncProperty(stepsOf(true), async (steps) => {
        const { units, left } = await run(limits.window, steps);
        // Three processes, of which one may have thought itself alone.
        expect(units).toBeLessThanOrEqual(60 * 3);
        expect(left).toBe(Math.max(0, 60 - units));
      }),
      { numRuns: 150 },
    );
  });
});
