import type { Decision, Reason, Source } from './decision.js';
import type { PortableReceipt } from './limiter-types.js';
import { receiptOf } from './stores/outcome.js';
import type { Check, GroupOutcome, Outcome, Receipt } from './stores/store.js';

/** What a decision took, and whether it was given back. Not enumerable: it is no part of the answer. */
interface Taking {
  receipt: Receipt | PortableReceipt | undefined;
  spent: boolean;
}

const toMs = (us: number): number => (us === Number.POSITIVE_INFINITY ? us : Math.ceil(us / 1000));

/** A decision as the user gets it: plain fields, and privately the receipt of what it took. */
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
  readonly #from: DecidedFrom<Rule>;
  #taking: Taking | undefined;

  constructor(from: DecidedFrom<Rule>) {
    const { rule, key, cost, limit, shadow, outcome, group } = from;
    this.allowed = shadow || outcome.allowed;
    this.rule = rule;
    this.key = key;
    this.cost = cost;
    this.limit = limit;
    this.remaining = outcome.remaining;
    this.retryAfterMs = this.allowed ? 0 : toMs(outcome.retryAfterUs);
    this.resetAfterMs = toMs(outcome.resetAfterUs);
    this.reason = outcome.reason;
    this.source = group.source;
    this.degraded = group.degraded;
    this.shadow = shadow;
    this.wouldAllow = outcome.allowed;
    this.decidedAt = group.now;
    this.#from = from;
  }

  static takingOf(decision: unknown): Taking | undefined {
    if (typeof decision !== 'object' || decision === null || !(#from in decision)) return undefined;
    decision.#taking ??= { receipt: receiptFrom(decision.#from), spent: false };
    return decision.#taking;
  }
}

export interface DecidedFrom<Rule extends string> {
  readonly rule: Rule;
  readonly key: string;
  readonly cost: number;
  readonly limit: number;
  readonly shadow: boolean;
  readonly plan?: string | undefined;
  /** Absent for `unlimited`, which no store sees. */
  readonly check?: Check | undefined;
  readonly outcome: Outcome;
  readonly group: Pick<GroupOutcome, 'now' | 'source' | 'degraded'>;
}

function receiptFrom<Rule extends string>({ check, outcome, group, plan }: DecidedFrom<Rule>): Receipt | undefined {
  const receipt = check && receiptOf(check, outcome, group);
  return receipt && plan !== undefined ? { ...receipt, plan } : receipt;
}
