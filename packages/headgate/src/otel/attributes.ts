import type { Attributes } from '@opentelemetry/api';
import type { DecisionMessage } from '../channels.js';

/**
 * - `allowed`, `refused`
 * - `undone`: it passed, but another check of its group refused; it took nothing
 * - `would-refuse`: its rule only observes
 */
export type OutcomeName = 'allowed' | 'refused' | 'undone' | 'would-refuse';

/** How a decision came out. */
export function outcomeName({ allowed, granted, wouldAllow }: DecisionMessage): OutcomeName {
  if (!allowed) return 'refused';
  if (!wouldAllow) return 'would-refuse';
  return granted ? 'allowed' : 'undone';
}

/** What is told of a decision: a few values for each rule, and nothing of keys. */
export const attributesOf = (message: DecisionMessage): Attributes => ({
  'headgate.rule': message.rule,
  'headgate.outcome': outcomeName(message),
  'headgate.reason': message.reason,
  'headgate.source': message.source,
  'headgate.degraded': message.degraded,
});
