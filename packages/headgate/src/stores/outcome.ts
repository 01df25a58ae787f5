import { refundableUntil } from '../algorithms/consecutive-failures.js';
import { algorithmOf } from '../algorithms/index.js';
import { tokenBucketAlgorithm, turnAfterUs } from '../algorithms/token-bucket.js';
import { millionth } from '../limit.js';
import type { View } from '../algorithms/index.js';
import type { Check, Group, GroupOutcome, LoneOutcome, Outcome, Receipt } from './store.js';

/** What a store found for one check: enough to say everything else. */
export interface Finding {
  readonly check: Check;
  /** The cost with that of earlier checks of the same key in the group, which must pass together. */
  readonly cost: number;
  readonly now: number;
  readonly view: View;
  readonly allowed: boolean;
  readonly taken: number;
  /** The end of a ban in force. */
  readonly bannedUntil?: number | undefined;
}

/** Turns a store's finding into an outcome: the one place where remaining, waits and reasons come from. */
export function outcomeOf({ check, cost, now, view, allowed, taken, bannedUntil }: Finding): Outcome {
  const { limit } = check;
  if (bannedUntil !== undefined) {
    const left = bannedUntil - now;
    return { allowed: false, taken: 0, remaining: 0, retryAfterUs: left, resetAfterUs: left, reason: 'banned' };
  }
  const { remaining, retryAfterUs, resetAfterUs, windowEnd, failures } = algorithmOf(limit.kind).describe({ view, limit, now, cost });
  const never = retryAfterUs === Number.POSITIVE_INFINITY;
  const inPart = taken > 0 && taken < check.cost;
  // Assigned, not spread: every check makes one.
  const outcome: { -readonly [Field in keyof Outcome]: Outcome[Field] } = {
    allowed,
    taken,
    remaining,
    retryAfterUs: allowed && !inPart ? 0 : retryAfterUs,
    resetAfterUs,
    reason: allowed ? 'ok' : never ? 'cost-above-limit' : 'limited',
  };
  if (windowEnd !== undefined) outcome.windowEnd = windowEnd;
  if (failures !== undefined) outcome.failures = failures;
  if (allowed && check.aheadUs !== undefined && limit.kind === 'tokenBucket') {
    outcome.waitUs = turnAfterUs(view, limit);
    outcome.fill = view[0] ?? 0;
  }
  return outcome;
}

/** A check that was decided by itself, as a group of one. */
export function groupOf({ now, source, degraded, ...outcome }: LoneOutcome, { shadow }: Check): GroupOutcome {
  return { now, allowed: outcome.allowed || shadow === true, outcomes: [outcome], source, degraded };
}

/** Of a check that was not asked about, as another in its group refuses: nothing is known to be left, and nothing refuses it. */
export const unasked: Outcome = Object.freeze({ allowed: true, taken: 0, remaining: 0, retryAfterUs: 0, resetAfterUs: 0, reason: 'ok' });

/** For each check, the summed cost of it and the earlier ones of the same budget; `sameAs` tells which budget a check is of. */
export function costsTogether(group: Group, budgetOf: (check: Check) => string): number[] {
  if (group.checks.length === 1) return group.checks.map((check) => check.cost);
  const costs = new Map<string, number>();
  return group.checks.map((check) => {
    const budget = budgetOf(check);
    const cost = (costs.get(budget) ?? 0) + check.cost;
    costs.set(budget, cost);
    return cost;
  });
}

/** Whether a group passes: every check that is not a shadow is allowed. */
export function passes(group: Group, allowed: readonly boolean[]): boolean {
  return group.checks.every((check, index) => check.shadow === true || allowed[index] === true);
}

/** The receipt of what a check took; undefined if it took nothing. */
export function receiptOf(check: Check, outcome: Outcome, decided: { now: number; degraded: boolean }): Receipt | undefined {
  if (outcome.taken === 0) return undefined;
  const { rule, key, limit, holder, plan } = check;
  return {
    rule,
    key,
    limit,
    taken: outcome.taken,
    takenAt: outcome.takenAt ?? decided.now,
    degraded: decided.degraded,
    ...(outcome.windowEnd === undefined ? undefined : { windowEnd: outcome.windowEnd }),
    ...(holder === undefined ? undefined : { holder }),
    ...(outcome.fill === undefined ? undefined : { fill: outcome.fill }),
    ...(plan === undefined ? undefined : { plan }),
  };
}

/** When a take can return nothing any more, by the rule of giving back: microseconds since 1970, by the store's clock. */
export function returnableUntil({ limit, taken, takenAt, windowEnd }: Receipt): number {
  if (limit.kind === 'tokenBucket') return takenAt + tokenBucketAlgorithm.expiresAt({ used: taken * millionth, at: 0 }, limit, 0);
  if (limit.kind === 'slidingLog') return takenAt + limit.windowUs;
  if (limit.kind === 'concurrency') return takenAt + limit.expiresUs;
  if (limit.kind === 'consecutiveFailures') return refundableUntil(takenAt, limit);
  return windowEnd ?? takenAt;
}
