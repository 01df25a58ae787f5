import type { Decision, Reason, Source } from './decision.js';
import { inputError, show } from './errors.js';
import { sizeOf, type Limit, type LimitKind } from './limit.js';
import type { PortableReceipt } from './limiter-types.js';
import { isCounted, type Asked } from './requests.js';
import { receiptOf } from './stores/outcome.js';
import type { GroupOutcome, Outcome, Receipt } from './stores/store.js';

/** What a decision took, and whether it was given back. Not enumerable: it is no part of the answer. */
interface Taking {
  receipt: Receipt | PortableReceipt | undefined;
  spent: boolean;
}

const toMs = (us: number): number => (us === Number.POSITIVE_INFINITY ? us : Math.ceil(us / 1000));

/** A decision as the user gets it: plain fields, and privately the receipt of what it took, made when it is first asked for. */
export class Decided<Rule extends string> implements Decision<Rule> {
  readonly allowed: boolean;
  readonly rule: Rule;
  readonly key: string;
  readonly cost: number;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetAfterMs: number;
  readonly reason: Reason;
  readonly source: Source;
  readonly degraded: boolean;
  readonly shadow: boolean;
  readonly wouldAllow: boolean;
  readonly decidedAt: number;
  readonly #asked: Asked;
  readonly #outcome: Outcome;
  #taking: Taking | undefined;

  constructor(asked: Asked, outcome: Outcome, { now, source, degraded }: Pick<GroupOutcome, 'now' | 'source' | 'degraded'>) {
    const shadow = asked.shadow === true;
    this.allowed = shadow || outcome.allowed;
    this.rule = asked.rule as Rule;
    this.key = asked.key;
    this.cost = asked.cost;
    this.limit = sizeOf(asked.limit);
    this.remaining = outcome.remaining;
    this.retryAfterMs = this.allowed ? 0 : toMs(outcome.retryAfterUs);
    this.resetAfterMs = toMs(outcome.resetAfterUs);
    this.reason = outcome.reason;
    this.source = source;
    this.degraded = degraded;
    this.shadow = shadow;
    this.wouldAllow = outcome.allowed;
    this.decidedAt = now;
    this.#asked = asked;
    this.#outcome = outcome;
  }

  /** Microseconds until the turn that a decision took; 0 if it is now. */
  static turnOf(decision: Decision): number {
    return #outcome in decision ? (decision.#outcome.waitUs ?? 0) : 0;
  }

  /** The kind of limit that a decision was made under; undefined for what is no decision of a limiter's own. */
  static kindOf(decision: unknown): LimitKind | undefined {
    return Decided.limitOf(decision)?.kind;
  }

  /** The limit that a decision was made under; undefined for what is no decision of a limiter's own. */
  static limitOf(decision: unknown): Limit | undefined {
    return typeof decision === 'object' && decision !== null && #asked in decision ? decision.#asked.limit : undefined;
  }

  /** What a decision took; undefined for what is no decision of a limiter's own. */
  static takingOf(decision: unknown): Taking | undefined {
    if (typeof decision !== 'object' || decision === null || !(#asked in decision)) return undefined;
    decision.#taking ??= { receipt: decision.#receipt(), spent: false };
    return decision.#taking;
  }

  #receipt(): Receipt | undefined {
    return isCounted(this.#asked) ? receiptOf(this.#asked, this.#outcome, { now: this.decidedAt, degraded: this.degraded }) : undefined;
  }
}

/**
 * The limit that a decision was made under: its rule's, or its plan's. For header fields, which tell limits and not only what is left.
 *
 * @throws TypeError for what is no decision of a limiter, such as a copy, or a group (take its `decisions`)
 * @example
 * ```ts
 * import { createLimiter, limitOf, tokenBucket } from 'headgate';
 *
 * const limiter = createLimiter({ rules: { search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) } } });
 * console.log(limitOf(await limiter.check('search', 'key42')).kind); // tokenBucket
 * ```
 */
export function limitOf(decision: Decision): Limit {
  const limit = Decided.limitOf(decision);
  if (limit !== undefined) return limit;
  throw inputError('HEADGATE_BAD_CALL', `limitOf: expected a decision of a limiter, not a copy or a group; got ${show(decision)}`);
}
