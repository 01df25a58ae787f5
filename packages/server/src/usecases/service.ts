import type { Decision, Limiter } from 'headgate';
import type { Answered } from 'headgate/http';
import { limitInForce, type RuleSet } from '../rules/compile.js';
import type { Receipts } from './receipts.js';

/** What every use case works on. The rules in force may change between requests, never within one. */
export interface Service {
  readonly current: () => InForce;
  readonly receipts: Receipts;
  /** Told of every decision, for metrics. */
  readonly observe: (decisions: readonly Decision[]) => void;
}

/** A set of rules and the limiter that holds them. */
export interface InForce {
  readonly rules: RuleSet;
  readonly limiter: Limiter;
}

/** A decision with the limit it was made under, for the header fields. */
export function answered({ rules }: InForce, decision: Decision, plan: string | undefined): Answered {
  const limit = limitInForce(rules, decision.rule, plan);
  if (limit === undefined) throw new Error('a decision of a rule that is not in force');
  return { decision, limit };
}
