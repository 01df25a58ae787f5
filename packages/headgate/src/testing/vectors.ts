import assert from 'node:assert/strict';
import type { CountedLimit } from '../limit.js';
import { limitFrom } from '../limit-from.js';
import type { Outcome, Receipt } from '../stores/store.js';
import { verbs, type StoreCase } from './harness.js';
import concurrencyRows from './vectors/concurrency.json' with { type: 'json' };
import failureRows from './vectors/consecutive-failures.json' with { type: 'json' };
import bucketRows from './vectors/token-bucket.json' with { type: 'json' };
import windowRows from './vectors/windows.json' with { type: 'json' };

/** What a step expects; times in milliseconds rounded up, `null` for never. */
interface Expected {
  readonly allowed?: boolean;
  readonly remaining?: number;
  readonly retryAfterMs?: number | null;
  readonly resetAfterMs?: number;
  readonly reason?: string;
  readonly failures?: number;
}

/** One line of a vector: wait, then check (perhaps several times), and compare. Plain data, for any language. */
interface Step extends Expected {
  readonly afterMs?: number;
  readonly times?: number;
  readonly cost?: number;
  /** What the last of several checks says besides. */
  readonly last?: Expected;
  /** What became of the last attempt so far, told before this step's checks: it succeeded, or was aborted. Consecutive failures only. */
  readonly before?: 'success' | 'refund';
}

interface Vector {
  readonly name: string;
  readonly limit: Readonly<Record<string, unknown>>;
  readonly steps: readonly Step[];
}

/** Vectors are of limits that count. */
const limitOf = ({ limit }: Vector): CountedLimit => limitFrom(limit) as CountedLimit;

const toMs = (us: number): number | null => (us === Number.POSITIVE_INFINITY ? null : Math.ceil(us / 1000));

function compare(outcome: Outcome, expected: Expected, where: string): void {
  const seen: Expected = {
    allowed: outcome.allowed,
    remaining: outcome.remaining,
    retryAfterMs: toMs(outcome.retryAfterUs),
    resetAfterMs: toMs(outcome.resetAfterUs) ?? -1,
    reason: outcome.reason,
    ...(outcome.failures === undefined ? undefined : { failures: outcome.failures }),
  };
  for (const name of Object.keys(expected) as (keyof Expected)[]) assert.equal(seen[name], expected[name], `${where}: ${name}`);
}

function vectorCase(vector: Vector): StoreCase {
  return {
    name: vector.name,
    async run(harness) {
      const { one, seconds, giveBack } = verbs(harness);
      const limit = limitOf(vector);
      let holder = 0;
      let taken: Receipt | undefined;
      for (const [number, { afterMs = 0, times = 1, cost = 1, last, before, ...expected }] of vector.steps.entries()) {
        await seconds(afterMs / 1000);
        if (before !== undefined) await giveBack(taken, before === 'success' ? { forget: true } : {});
        for (let i = 1; i <= times; i += 1) {
          holder += 1;
          const outcome = await one(limit, { cost, ...(limit.kind === 'concurrency' ? { holder: `h${holder}` } : undefined) });
          taken = outcome.receipt ?? taken;
          compare(
            outcome,
            i === times ? { ...expected, ...last } : { allowed: expected.allowed ?? true },
            `step ${number + 1}, check ${i}`,
          );
        }
      }
    },
  };
}

/** The vectors as store cases. */
export const vectorCases: readonly StoreCase[] = [...bucketRows, ...windowRows, ...concurrencyRows, ...failureRows].map((row) =>
  vectorCase(row as Vector),
);
