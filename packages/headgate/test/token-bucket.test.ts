import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mulDivCeil, mulDivFloor } from '../src/algorithms/arithmetic.js';
import { tokenBucketAlgorithm, type BucketState } from '../src/algorithms/token-bucket.js';
import { tokenBucket } from '../src/limit.js';

const million = 1_000_000n;

/** A bucket in whole-number arithmetic: millionths times the refill's time, so that nothing is ever rounded. */
function exactBucket({ capacity, units, perUs }: { capacity: bigint; units: bigint; perUs: bigint }) {
  let used = 0n;
  let at = 0n;
  const refill = (now: bigint): void => {
    used -= (now - at) * units * million;
    if (used < 0n) used = 0n;
    at = now;
  };
  return {
    refill,
    take: (cost: bigint): void => void (used += cost * million * perUs),
    /** Millionths used, rounded down, and whether `cost` fits with so many millionths of tolerance. */
    fits: (cost: bigint, tolerance = 0n): boolean => used + (cost * million - tolerance) * perUs <= capacity * million * perUs,
  };
}

const units = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 9_000_000_000 }));
const perMs = fc.oneof(fc.constantFrom(1, 1000, 60_000, 86_400_000, 2_592_000_000), fc.integer({ min: 1, max: 2_592_000_000 }));
const capacity = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 9_000_000_000 }));
const steps = fc.array(
  fc.record({
    wait: fc.oneof(fc.nat(10), fc.nat(2_000_000), fc.nat(100_000_000_000_000)),
    cost: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 9_000_000_000 })),
  }),
  { minLength: 1, maxLength: 30 },
);

describe('the token bucket against whole-number arithmetic', () => {
  it('admits nothing that the exact bucket refuses, and refuses nothing that it admits by more than a millionth of a unit per take', () => {
    let checks = 0;
    fc.assert(
      fc.property(units, perMs, capacity, steps, (n, ms, size, rows) => {
        const years = (size * ms) / n / (365.25 * 86_400_000);
        fc.pre(years <= 10);
        const limit = tokenBucket({ capacity: size, refill: `${n}/${ms}ms` });
        const exact = exactBucket({ capacity: BigInt(size), units: BigInt(n), perUs: BigInt(ms) * 1000n });
        let state: BucketState | undefined;
        let now = 0;
        let takes = 0n;
        for (const { wait, cost } of rows) {
          now += wait;
          exact.refill(BigInt(now));
          const step = tokenBucketAlgorithm.take({ state: tokenBucketAlgorithm.current(state, limit, now), limit, now, cost });
          checks += 1;
          if (step.allowed) {
            expect(exact.fits(BigInt(cost)), `over: ${cost} at ${now}`).toBe(true);
            exact.take(BigInt(cost));
            takes += 1n;
            state = step.state;
          } else if (cost <= size) expect(exact.fits(BigInt(cost), -takes - 1n), `under: ${cost} at ${now}`).toBe(false);
        }
      }),
      { numRuns: 20_000 },
    );
    expect(checks).toBeGreaterThan(100_000);
  });

  it('a retry after the wait it names passes, for any rate', () => {
    fc.assert(
      fc.property(units, perMs, capacity, fc.integer({ min: 1, max: 9_000_000_000 }), fc.nat(1_000_000), (n, ms, size, cost, pause) => {
        fc.pre((size * ms) / n / (365.25 * 86_400_000) <= 10 && cost <= size);
        const limit = tokenBucket({ capacity: size, refill: `${n}/${ms}ms` });
        const full = tokenBucketAlgorithm.take({ state: { used: 0, at: 0 }, limit, now: 0, cost: size });
        const current = tokenBucketAlgorithm.current(full.state, limit, pause);
        const { retryAfterUs } = tokenBucketAlgorithm.describe({ view: [current.used], limit, now: pause, cost });
        const later = pause + retryAfterUs;
        const state = tokenBucketAlgorithm.current(full.state, limit, later);
        expect(tokenBucketAlgorithm.take({ state, limit, now: later, cost }).allowed).toBe(true);
      }),
      { numRuns: 100_000 },
    );
  });
});

describe('products above 2^53', () => {
  it('are divided exactly', () => {
    const term = fc.oneof(fc.nat(1000), fc.maxSafeNat());
    fc.assert(
      fc.property(term, term, fc.integer({ min: 1, max: 600_000_000_000_000 }), (a, b, c) => {
        const product = BigInt(a) * BigInt(b);
        const quotient = product / BigInt(c);
        fc.pre(quotient < 2n ** 53n - 1n);
        expect(mulDivFloor(a, b, c)).toBe(Number(quotient));
        expect(mulDivCeil(a, b, c)).toBe(Number(quotient) + (product % BigInt(c) === 0n ? 0 : 1));
      }),
      { numRuns: 50_000 },
    );
  });
});
