import type { CountedLimit } from '../limit.js';
import { receiptOf } from '../stores/outcome.js';
import type { Check, GiveBack, GroupOutcome, Outcome, Receipt, Store, Target } from '../stores/store.js';

/** A store under test, and its clock. Each case gets a store without any counters. */
export interface StoreHarness {
  readonly store: Store;
  /** Moves the store's clock on. It stands at 2026-01-01T00:00:00Z to begin with, and between calls. */
  advance(us: number): Promise<void> | void;
}

/** One behaviour that every store has. `run` rejects with an AssertionError where it does not. */
export interface StoreCase {
  readonly name: string;
  run(harness: StoreHarness): Promise<void>;
}

const second = 1_000_000;

/** A harness with the verbs that cases are written in. */
export function verbs({ store, advance }: StoreHarness) {
  const check = (limit: CountedLimit, more?: Partial<Check>): Check => ({ rule: 'rule', key: 'key', limit, cost: 1, ...more });

  async function group(checks: readonly Check[], dry = false): Promise<GroupOutcome> {
    return store.decide(dry ? { checks, dry } : { checks });
  }

  async function one(limit: CountedLimit, more?: Partial<Check>): Promise<Outcome & { receipt: Receipt | undefined; now: number }> {
    const asked = check(limit, more);
    const decided = await group([asked]);
    const outcome = decided.outcomes[0];
    if (outcome === undefined) throw new Error('the store answered for no check');
    return { ...outcome, receipt: receiptOf(asked, outcome, decided), now: decided.now };
  }

  /** How many of so many single checks pass. */
  async function passing(times: number, limit: CountedLimit, more?: Partial<Check>): Promise<number> {
    let passed = 0;
    for (let i = 0; i < times; i += 1) if ((await one(limit, more)).allowed) passed += 1;
    return passed;
  }

  async function remaining(limit: CountedLimit, more?: Partial<Check>): Promise<number> {
    return (await group([check(limit, more)], true)).outcomes[0]?.remaining ?? Number.NaN;
  }

  async function giveBack(receipt: Receipt | undefined, more?: Partial<GiveBack>): Promise<number> {
    if (receipt === undefined) throw new Error('nothing was taken');
    return store.giveBack({ receipt, units: receipt.taken, ...more });
  }

  return {
    store,
    check,
    group,
    one,
    passing,
    remaining,
    giveBack,
    target: (limit: CountedLimit, more?: Partial<Target>): Target => ({ rule: 'rule', key: 'key', kinds: [limit.kind], ...more }),
    seconds: async (n: number) => advance(Math.round(n * second)),
  };
}

export type Verbs = ReturnType<typeof verbs>;
