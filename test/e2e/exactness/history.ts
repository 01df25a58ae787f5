/** A limit as the recorder writes it down: its numbers only, so that the checker needs nothing of Headgate's. */
export type LimitSpec =
  | { readonly kind: 'tokenBucket'; readonly size: number; readonly units: number; readonly perUs: number }
  | { readonly kind: 'fixedWindow'; readonly size: number; readonly windowUs: number; readonly from: 'epoch' | 'first-request' }
  | { readonly kind: 'slidingWindow' | 'slidingLog'; readonly size: number; readonly windowUs: number }
  | { readonly kind: 'quota'; readonly size: number; readonly period: 'hour' }
  | { readonly kind: 'concurrency'; readonly size: number; readonly expiresUs: number }
  | { readonly kind: 'unlimited' };

export type CountedSpec = Exclude<LimitSpec, { kind: 'unlimited' }>;

/** One check and what was answered to it. */
export interface CheckRecord {
  readonly rule: string;
  readonly key: string;
  readonly limit: LimitSpec;
  readonly cost: number;
  readonly allowed: boolean;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly reason: string;
  readonly degraded: boolean;
}

/** One decision: a check, a group, or a peek (which takes nothing). */
export interface DecisionRecord {
  readonly id: number;
  readonly kind: 'check' | 'group' | 'peek';
  readonly allowed: boolean;
  /** The store's clock, in microseconds. */
  readonly decidedAt: number;
  /** The latest `decidedAt` that its process had seen when it asked: this decision is later than that. */
  readonly after: number;
  readonly checks: readonly CheckRecord[];
}

/**
 * Units given back or charged later, or a holder's end or extension. It has no `decidedAt`, so its process brackets it on the store's own
 * clock: it happened after a decision whose answer was there when it was sent, and before one that was asked when its answer was there.
 */
export interface CorrectionRecord {
  readonly verb: 'return' | 'charge' | 'release' | 'extend';
  /** The decision that took, and which of its checks. */
  readonly decision: number;
  readonly check: number;
  /** Units asked to be returned or charged. */
  readonly asked: number;
  /** Units really returned or charged (of a bucket perhaps a fraction); 1 or 0 for a release or an extension that did or did not. */
  readonly done: number;
  readonly after: number;
  readonly before: number;
}

export interface History {
  readonly decisions: readonly DecisionRecord[];
  readonly corrections: readonly CorrectionRecord[];
}
