import type { Decision, GroupDecision } from './decision.js';
import type { Duration } from './duration.js';
import type { OutboundFetch, OutboundOptions } from './outbound/options.js';
import type { RuleOptions } from './rule.js';
import type { Receipt } from './stores/store.js';

/** Options of one check. */
export interface CheckOptions<Plan extends string = string> {
  /** Units this request takes: a whole number of at least 1, 1 by default. */
  readonly cost?: number;
  /** The customer's plan; chooses among the rule's `plans`. */
  readonly plan?: Plan;
}

/** One check of a group. */
export interface CheckRequest<Name extends string = string, Plan extends string = string> extends CheckOptions<Plan> {
  readonly rule: Name;
  readonly key: string;
}

/** Options of {@link Limiter.acquire}. */
export interface AcquireOptions<Plan extends string = string> extends CheckOptions<Plan> {
  /** The longest wait that is worth it; refused at once if the turn comes later. */
  readonly maxWait: Duration;
  /** Aborting rejects with the signal's reason and gives the turn back. */
  readonly signal?: AbortSignal;
}

/** Options of {@link Limiter.setUsed}. */
export interface SetUsedOptions extends Pick<CheckOptions, 'plan'> {
  /** Units: a whole number from 0 to 9,000,000,000, above the limit too. */
  readonly used: number;
}

/** What settling a reservation did, in units. At most one of the two is above 0. */
export interface Settlement {
  readonly returned: number;
  readonly charged: number;
}

/** Units taken before their true cost is known. Never settled, they stay charged. */
export interface Reservation<Name extends string = string> {
  readonly allowed: boolean;
  readonly decision: Decision<Name>;
  /** Gives back or charges the difference to `actual`, a whole number of 0 or more. Counts once. */
  settle(actual: number): Promise<Settlement>;
  /** Gives everything back: the same as `settle(0)`. Counts once. */
  cancel(): Promise<Settlement>;
}

/** A decision that allowed something, or the plain receipt of one (from {@link Limiter.receipt}), perhaps of another process. */
export type Taken = Decision | PortableReceipt;

/** What became of an attempt. */
export type AttemptResult = 'success' | 'failure';

/** A receipt made portable: plain data for JSON, with the id that makes giving it back count once over all processes. */
export interface PortableReceipt extends Receipt {
  readonly onceId: string;
}

/** Why the store did not answer: not by the deadline, the call failed, or it was not asked as it was away. */
export interface MissedCalls {
  readonly late: number;
  readonly failed: number;
  readonly unasked: number;
}

/** A limiter's own doings since it was made, and how it stands now; over all that `withRules` made from it. */
export interface LimiterStats {
  /** Checks decided, a group's each for itself. */
  readonly checks: number;
  /** Of them, those decided without the shared store. */
  readonly degraded: number;
  /** Give-backs that the store did not carry out: the units stay as they were. */
  readonly unreturned: number;
  /** Groups and checks refused by a note, at no call to the store. */
  readonly noted: number;
  /** Notes kept now. */
  readonly notes: number;
  /** Notes that gave way to newer ones while in force, as there were too many. */
  readonly notesDropped: number;
  /** Checks decided by a lease or by sync, at no call to the store. */
  readonly decidedLocally: number;
  /** Keys counted locally now. */
  readonly localKeys: number;
  /** Checks of rules that count locally that the store decided, as too many keys were counted locally. */
  readonly localDropped: number;
  /** Budgets with units that passed without the store and are not charged to it yet. */
  readonly owing: number;
  /** Units that passed without the store and will not be charged, as too many budgets owed at once. */
  readonly uncharged: number;
  /** Calls that the store did not answer in time, by why: each for a check, a group, or what was counted here. */
  readonly missed: MissedCalls;
  /** How old the oldest units are that were counted by sync and not told to the store yet, in milliseconds; 0 if there are none. */
  readonly syncLagMs: number;
  /** Processes that share the store, as far as is known; 1 for the memory store. */
  readonly fleet: number;
  /** Shards that are asked no more for now, by name; `'store'` if there is only one. */
  readonly unavailable: readonly string[];
}

/**
 * Decides. Made by {@link createLimiter}; its rule names are typed, and so are the plans that its rules name.
 *
 * Every verb that names a rule or key throws a `TypeError` with a `code` for bad input, before any store is touched.
 * `check`, `checkAll`, `peek`, `reserve` and `acquire` never reject because the store is away: the decision says
 * `degraded`. `refund`, `settle`, `outcome`, `release` and `extend` then answer that nothing was done; `reset`, `setUsed`, `ban`, `unban`
 * and `ready` reject with a {@link StoreError}.
 */
export interface Limiter<Name extends string = string, Plan extends string = string> {
  /** The names of its rules. */
  readonly rules: readonly Name[];
  /**
   * Decides and takes, in one atomic step.
   *
   * @example
   * ```ts
   * import { createLimiter, memoryStore, tokenBucket } from 'headgate';
   *
   * const limiter = createLimiter({
   *   store: memoryStore(),
   *   rules: { search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) } },
   * });
   * const decision = await limiter.check('search', 'key42', { cost: 3 });
   * if (!decision.allowed) console.log(`retry in ${decision.retryAfterMs} ms`);
   * ```
   */
  check(rule: Name, key: string, options?: CheckOptions<Plan>): Promise<Decision<Name>>;
  /** Decides several checks together, all or nothing. At least one, at most 64. */
  checkAll(checks: readonly CheckRequest<Name, Plan>[]): Promise<GroupDecision<Name>>;
  /** What `check` would say now; takes nothing. */
  peek(rule: Name, key: string, options?: CheckOptions<Plan>): Promise<Decision<Name>>;
  /**
   * Gives back what a decision, or a whole group, took; answers the units returned (of a bucket perhaps a fraction). Counts once. Into a
   * window only while it lasts; into a bucket what has not flowed back by itself; into consecutive failures for a day at most. 0 if the store
   * is away: too little may be returned, never too much.
   */
  refund(taken: Taken): Promise<number>;
  /**
   * Tells what became of an attempt under {@link consecutiveFailures}; of a group, of each such part. `'success'` forgets all failures of
   * its key, and answers true if it did: false if the store is away, or another success did so since the attempt began. `'failure'`
   * changes nothing and costs no call, as the attempt counts as failed since it began. Counts once; what was aborted, so that no password
   * was looked at, is taken back with `refund`.
   *
   * @throws TypeError for a decision of another limit
   * @example
   * ```ts
   * import { consecutiveFailures, createLimiter, fixedWindow } from 'headgate';
   *
   * const limiter = createLimiter({
   *   rules: {
   *     login: { limit: consecutiveFailures(), whenUnavailable: 'refuse' },
   *     perIp: { limit: fixedWindow({ limit: 20, window: '1m' }) },
   *   },
   * });
   * const attempt = await limiter.checkAll([
   *   { rule: 'login', key: 'ada@example.com' },
   *   { rule: 'perIp', key: '203.0.113.7' },
   * ]);
   * if (attempt.allowed) await limiter.outcome(attempt, 'success');
   * ```
   */
  outcome(taken: Taken, result: AttemptResult): Promise<boolean>;
  /** Takes `cost` now, to be settled or cancelled when the true cost is known. */
  reserve(rule: Name, key: string, options?: CheckOptions<Plan>): Promise<Reservation<Name>>;
  /** Gives back (`actual` below the cost) or charges (above) the difference for any receipt; what {@link Reservation.settle} does. */
  settle(taken: Taken, actual: number): Promise<Settlement>;
  /** Waits for its turn, at most `maxWait`. On a bucket the turn is taken in one call, so it is fair over processes. */
  acquire(rule: Name, key: string, options: AcquireOptions<Plan>): Promise<Decision<Name>>;
  /**
   * `fetch` under a rule, for partners that limit us: a call waits for its turn, and where the partner's answer says to wait (`Retry-After`,
   * `RateLimit`, `X-RateLimit-*`) all callers of this key do, in all processes, for `maxHold` at most. A 429 or 503 is sent again where that
   * is safe. A call rejects with an {@link OutboundError} if its turn comes too late, or no answer by the deadline.
   *
   * @throws TypeError; ConfigError for a wrong duration
   * @example
   * ```ts
   * import { createLimiter, tokenBucket } from 'headgate';
   *
   * const limiter = createLimiter({ rules: { partner: { limit: tokenBucket({ capacity: 10, refill: '10/s' }) } } });
   * const call = limiter.fetch('partner', 'acme', { maxWait: '2s', deadline: '10s' });
   * const response = await call('http://127.0.0.1:8080/orders', { method: 'PUT', body: '{}' });
   * ```
   */
  fetch(rule: Name, key: string, options?: OutboundOptions): OutboundFetch;
  /** Ends a concurrency holder; false if it had ended before. */
  release(taken: Taken): Promise<boolean>;
  /** Prolongs a concurrency holder by its limit's `expires` from now; false if it had ended. */
  extend(taken: Taken): Promise<boolean>;
  /** A key's full budget again. Lifts no ban. */
  reset(rule: Name, key: string): Promise<void>;
  /**
   * Sets how many units of a {@link quota} are used in its current period, as a bill knows it. At no time is less used than the smaller of what
   * was used and what is set, so no check passes meanwhile that neither would let pass. The same call twice sets the same. What is taken
   * meanwhile counts on top; units that other processes have leased are neither counted nor called back; under a ban nothing is raised.
   *
   * @throws TypeError for a rule that is no quota under this plan
   * @example
   * ```ts
   * import { createLimiter, memoryStore, quota } from 'headgate';
   *
   * const limiter = createLimiter({
   *   store: memoryStore(),
   *   rules: { monthly: { limit: quota({ limit: 1_000_000, period: 'month' }) } },
   * });
   * await limiter.setUsed('monthly', 'customer7', { used: 812_330 });
   * ```
   */
  setUsed(rule: Name, key: string, options: SetUsedOptions): Promise<void>;
  /** Refuses a key for a while, whatever it has left. */
  ban(rule: Name, key: string, duration: Duration): Promise<void>;
  unban(rule: Name, key: string): Promise<void>;
  /**
   * The portable receipt of an allowed decision: lets another process refund, settle, release or extend it, or tell its outcome. Undefined
   * if it took nothing.
   */
  receipt(decision: Decision): PortableReceipt | undefined;
  /** A limiter with other rules over the same store and counters. Closing either closes both. */
  withRules<Other extends string, OtherPlan extends string = string>(
    rules: Readonly<Record<Other, RuleOptions<OtherPlan>>>,
  ): Limiter<Other, OtherPlan>;
  /** Resolves once the store answers; rejects with a {@link StoreError} if it does not within a second. */
  ready(): Promise<void>;
  stats(): LimiterStats;
  /** Closes what the limiter opened. The user's own client stays open. */
  close(): Promise<void>;
}
