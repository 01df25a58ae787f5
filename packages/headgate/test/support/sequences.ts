import fc from 'fast-check';
import {
  concurrency,
  consecutiveFailures,
  fixedWindow,
  quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type CountedLimit,
} from '../../src/limit.js';

/**
 * For each rule, the limits it is changed to in turn: of one kind, as a changed rule has, and each forgetting sooner than the one
 * before. (What a state written under a shorter limit is worth under a longer one depends on whether its TTL has dropped it.)
 */
const limits: readonly (readonly CountedLimit[])[] = [
  [tokenBucket({ capacity: 2, refill: '1/d' }), tokenBucket({ capacity: 5, refill: '1/s' }), tokenBucket({ capacity: 8, refill: '7/3s' })],
  [tokenBucket({ capacity: 9_000_000_000, refill: '8999999999/d' }), tokenBucket({ capacity: 700_000, refill: '700000/s' })],
  [fixedWindow({ limit: 3, window: '1m' }), fixedWindow({ limit: 5, window: '10s' }), fixedWindow({ limit: 6, window: '1500ms' })],
  [
    fixedWindow({ limit: 6, window: '1m', from: 'first-request' }),
    fixedWindow({ limit: 4, window: '10s', from: 'first-request' }),
    fixedWindow({ limit: 6, window: '2s', from: 'first-request' }),
  ],
  [slidingWindow({ limit: 5, window: '1m' }), slidingWindow({ limit: 5, window: '10s' }), slidingWindow({ limit: 7, window: '3s' })],
  [slidingLog({ limit: 3, window: '1m' }), slidingLog({ limit: 5, window: '10s' })],
  [
    quota({ limit: 4, period: 'month', billingDay: 31 }),
    quota({ limit: 6, period: 'day', timeZone: 'Asia/Kathmandu' }),
    quota({ limit: 6, period: 'hour' }),
  ],
  [concurrency({ limit: 3, expires: '1m' }), concurrency({ limit: 4, expires: '10s' })],
  [
    consecutiveFailures({ limit: 6, free: 1, firstWait: '1s', longestWait: '3s', forget: '2d' }),
    consecutiveFailures({ limit: 20, free: 3, firstWait: 500, longestWait: '20s', forget: '1m' }),
    consecutiveFailures({ limit: 4, free: 9, firstWait: '1s', longestWait: '1s', forget: '10s' }),
  ],
];

export interface AskedCheck {
  readonly rule: number;
  readonly key: number;
  readonly version: number;
  readonly cost: number;
  readonly least: 'cost' | 'some' | 'force';
  readonly ahead: number;
  readonly countRefused: boolean;
  readonly shadow: boolean;
}

export type Op =
  | { readonly do: 'decide'; readonly checks: readonly AskedCheck[]; readonly dry: boolean }
  | { readonly do: 'advance'; readonly us: number }
  | { readonly do: 'giveBack'; readonly nth: number; readonly units: number }
  | { readonly do: 'extend' | 'succeed'; readonly nth: number }
  | { readonly do: 'reset' | 'unban'; readonly rule: number; readonly key: number }
  | { readonly do: 'ban'; readonly rule: number; readonly key: number; readonly us: number };

export const ruleCount = limits.length;

/** The limit of a rule in one of its versions. */
export function limitOf(rule: number, version: number): CountedLimit {
  const versions = limits[rule % limits.length] ?? [];
  const limit = versions[Math.min(version, versions.length - 1)];
  if (limit === undefined) throw new Error('no such rule');
  return limit;
}

const rule = fc.nat(limits.length - 1);
const key = fc.nat(1);
const often = <T>(value: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: other });

const check: fc.Arbitrary<AskedCheck> = fc.record({
  rule,
  key,
  version: often(0, fc.nat(2)),
  cost: fc.oneof(
    { weight: 5, arbitrary: fc.constant(1) },
    { weight: 2, arbitrary: fc.integer({ min: 2, max: 9 }) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 9_000_000_000 }) },
  ),
  least: often<'cost' | 'some' | 'force'>('cost', fc.constantFrom('some', 'force')),
  ahead: often(0, fc.constantFrom(1, 500_000, 3_000_000, 86_400_000_000)),
  countRefused: often(false, fc.constant(true)),
  shadow: often(false, fc.constant(true)),
});

const advance = fc.oneof(
  fc.constantFrom(1, 999, 1000, 500_000, 1_000_000, 1_500_000, 2_000_000, 10_000_000, 60_000_000),
  fc.integer({ min: 1, max: 20_000_000 }),
  fc.integer({ min: 1, max: 4_000_000_000_000 }),
);

const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('decide' as const),
      checks: fc.array(check, { minLength: 1, maxLength: 3 }),
      dry: often(false, fc.constant(true)),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('advance' as const), us: advance }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('giveBack' as const), nth: fc.nat(20), units: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('extend' as const, 'succeed' as const), nth: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('reset' as const, 'unban' as const), rule, key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('ban' as const), rule, key, us: fc.integer({ min: 1, max: 30_000_000 }) }) },
);

/** Sequences of checks, groups, give-backs, changed limits, bans, resets and time. */
export const sequences: fc.Arbitrary<readonly Op[]> = fc.array(op, { minLength: 1, maxLength: 16 });
