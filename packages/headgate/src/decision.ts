/** Why a decision is what it is. */
export type Reason = 'ok' | 'limited' | 'cost-above-limit' | 'banned' | 'store-unavailable';

/** Where a decision was made. */
export type Source = 'store' | 'lease' | 'sync' | 'note' | 'fallback';

/**
 * The answer to one check. A refusal is a value, never an exception.
 *
 * With `tokenBucket({ capacity: 20, refill: '2/s' })`, 20 checks at one instant are allowed, the last with `remaining: 0`
 * and `resetAfterMs: 10000`; the 21st says `allowed: false`, `retryAfterMs: 500`.
 */
export interface Decision<Rule extends string = string> {
  /** Whether the request may pass. Always true for a shadow rule. */
  readonly allowed: boolean;
  readonly rule: Rule;
  readonly key: string;
  /** Units asked for. */
  readonly cost: number;
  /** Capacity or limit in force, in units; `Infinity` for `unlimited`. */
  readonly limit: number;
  /** Whole units left now, 0 or more. */
  readonly remaining: number;
  /** 0 if allowed; else milliseconds until this cost can pass if nobody else takes, rounded up; `Infinity` if it never can. */
  readonly retryAfterMs: number;
  /** Milliseconds until the full limit is available again, rounded up. */
  readonly resetAfterMs: number;
  readonly reason: Reason;
  readonly source: Source;
  /** True if decided without the shared store. */
  readonly degraded: boolean;
  /** True if the rule only observes. */
  readonly shadow: boolean;
  /** What a shadow rule would have said; the same as `allowed` for other rules. */
  readonly wouldAllow: boolean;
  /** When it was decided: microseconds since 1970, by the store's clock. */
  readonly decidedAt: number;
}

/**
 * The answer to a group: the binding decision (of those that refuse, the longest wait; else the fewest remaining), with one
 * decision per check in the order asked. In a refused group a check that would have passed says `allowed: true`, and
 * nothing was taken.
 */
export interface GroupDecision<Rule extends string = string> extends Decision<Rule> {
  readonly decisions: readonly Decision<Rule>[];
}
