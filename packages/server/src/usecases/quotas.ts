import { randomUUID } from 'node:crypto';
import { periodAt, type Decision, type QuotaLimit } from 'headgate';
import { limitInForce } from '../rules/compile.js';
import { endOf } from './periods.js';
import { answered, planned, type InForce, type Service } from './service.js';

/** How a key stands under a quota. */
export interface QuotaState {
  readonly rule: string;
  readonly used: number;
  readonly limit: number;
  readonly remaining: number;
  /** When the period in force began, and when it ends. */
  readonly startsAt: string;
  readonly resetsAt: string;
  /** Told without the shared store. */
  readonly degraded: boolean;
}

function stateOf(decision: Decision, quota: Quota): QuotaState {
  const { rule, limit, remaining, degraded } = decision;
  const { startUs, endUs } = periodAt(quota.limit, decision.decidedAt);
  const [startsAt, resetsAt] = [startUs, endUs].map((us) => new Date(us / 1000).toISOString()) as [string, string];
  return { rule, used: limit - remaining, limit, remaining, startsAt, resetsAt, degraded };
}

/** A customer's quota under a rule: with the plan that holds for him. */
interface Quota {
  readonly rule: string;
  readonly key: string;
  readonly plan: string | undefined;
  readonly limit: QuotaLimit;
}

/** Undefined if the rule is no quota for this customer. */
function quotaOf(inForce: InForce, asked: { rule: string; key: string; plan: string | undefined }): Quota | undefined {
  const { rule, key, plan: told } = asked;
  const { plan } = planned(inForce, { rule, key, ...(told !== undefined && { plan: told }) });
  const limit = limitInForce(inForce.rules, rule, plan);
  return limit?.kind === 'quota' ? { rule, key, plan, limit } : undefined;
}

const look = ({ limiter }: InForce, { rule, key, plan }: Quota): Promise<Decision> =>
  limiter.peek(rule, key, plan === undefined ? undefined : { plan });

/** How a key stands under every quota in force; takes nothing. */
export async function quotasOf(service: Service, key: string, plan: string | undefined): Promise<QuotaState[]> {
  const inForce = service.current();
  const states: QuotaState[] = [];
  for (const rule of inForce.rules.rules.keys()) {
    const quota = quotaOf(inForce, { rule, key, plan });
    if (quota !== undefined) states.push(stateOf(await look(inForce, quota), quota));
  }
  return states;
}

/** The rule is not in force, or no quota for this customer. */
export class NoQuotaError extends Error {
  override readonly name = 'NoQuotaError';
}

/** More than any counter holds. */
const all = 9_000_000_000;

/** Gives back units that no decision of ours took: the period is what they are known by. */
function lower(
  { limiter }: InForce,
  { rule, key, limit, plan }: Quota,
  { decision, units }: { decision: Decision; units: number },
): Promise<number> {
  return limiter.refund({
    rule,
    key,
    limit,
    taken: units,
    takenAt: decision.decidedAt,
    windowEnd: endOf(decision, limit) * 1000,
    degraded: false,
    onceId: randomUUID(),
    ...(plan !== undefined && { plan }),
  });
}

async function raise({ limiter }: InForce, { rule, key, plan }: Quota, units: number): Promise<void> {
  const reserved = await limiter.reserve(rule, key, { cost: 1, ...(plan !== undefined && { plan }) });
  // Used up already: more would change nothing.
  if (reserved.allowed) await reserved.settle(units);
}

/**
 * Sets how much of a quota is used, as a billing system knows it: the counter is a guard, not the bill. What is checked meanwhile counts on top.
 * Of a quota that is used up it is not known by how much; it is emptied first, so a check may slip through in between.
 *
 * @throws NoQuotaError
 */
export async function setQuota(
  service: Service,
  asked: { rule: string; key: string; plan: string | undefined; used: number },
): Promise<QuotaState> {
  const inForce = service.current();
  const quota = quotaOf(inForce, asked);
  if (quota === undefined) throw new NoQuotaError(`rule ${JSON.stringify(asked.rule)} is not in force, or no quota for this customer`);
  const decision = await look(inForce, quota);
  const used = decision.limit - decision.remaining;
  if (decision.remaining === 0 && asked.used < decision.limit) {
    await lower(inForce, quota, { decision, units: all });
    if (asked.used > 0) await raise(inForce, quota, asked.used);
  } else if (asked.used < used) await lower(inForce, quota, { decision, units: used - asked.used });
  else if (asked.used > used) await raise(inForce, quota, asked.used - used);
  const now = await look(inForce, quota);
  service.adjusted(answered(inForce, now, quota.plan));
  return stateOf(now, quota);
}
