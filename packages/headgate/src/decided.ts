import type { Decision, Reason, Source } from './decision.js';
import { sizeOf, type LimitKind } from './limit.js';
import type { PortableReceipt } from './limiter-types.js';
import type { Request } from './requests.js';
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
  readonly #request: Request;
  readonly #outcome: Outcome;
  #taking: Taking | undefined;

  constructor(request: Request, outcome: Outcome, group: Pick<GroupOutcome, 'now' | 'source' | 'degraded'>) {
    const { rule } = request;
    this.allowed = rule.shadow || outcome.allowed;
    this.rule = rule.name as Rule;
    this.key = request.key;
    this.cost = request.cost;
    this.limit = sizeOf(request.limit);
    this.remaining = outcome.remaining;
    this.retryAfterMs = this.allowed ? 0 : toMs(outcome.retryAfterUs);
    this.resetAfterMs = toMs(outcome.resetAfterUs);
    this.reason = outcome.reason;
    this.source = group.source;
    this.degraded = group.degraded;
    this.shadow = rule.shadow;
    this.wouldAllow = outcome.allowed;
    this.decidedAt = group.now;
    this.#request = request;
    this.#outcome = outcome;
  }

  /** Microseconds until the turn that a decision took; 0 if it is now. */
  static turnOf(decision: Decision): number {
    return #outcome in decision ? (decision.#outcome.waitUs ?? 0) : 0;
  }

  /** The kind of limit that a decision was made under; undefined for what is no decision of a limiter's own. */
  static kindOf(decision: unknown): LimitKind | undefined {
    return typeof decision === 'object' && decision !== null && #request in decision ? decision.#request.limit.kind : undefined;
  }

  /** What a decision took; undefined for what is no decision of a limiter's own. */
  static takingOf(decision: unknown): Taking | undefined {
    if (typeof decision !== 'object' || decision === null || !(#request in decision)) return undefined;
    decision.#taking ??= { receipt: decision.#receipt(), spent: false };
    return decision.#taking;
  }

  #receipt(): Receipt | undefined {
    const { check, plan } = this.#request;
    const receipt = check && receiptOf(check, this.#outcome, { now: this.decidedAt, degraded: this.degraded });
    return receipt && plan !== undefined ? { ...receipt, plan } : receipt;
  }
}
