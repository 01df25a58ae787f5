import { periodAt, type Decision, type QuotaLimit } from 'headgate';
import { limitInForce } from '../rules/compile.js';
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

/**
 * Sets how much of a quota is used, as a billing system knows it: the counter is a guard, not the bill. What is checked meanwhile counts on top; no
 * check passes meanwhile that neither the old nor the new value would let pass.
 *
 * @throws NoQuotaError; StoreError if the store is away
 */
export async function setQuota(
  service: Service,
  asked: { rule: string; key: string; plan: string | undefined; used: number },
): Promise<QuotaState> {
  const inForce = service.current();
  const quota = quotaOf(inForce, asked);
  if (quota === undefined) throw new NoQuotaError(`rule ${JSON.stringify(asked.rule)} is not in force, or no quota for this customer`);
  const { rule, key, plan } = quota;
  return service.whileLowering(quota, async () => {
    await inForce.limiter.setUsed(rule, key, { used: asked.used, ...(plan !== undefined && { plan }) });
    const now = await look(inForce, quota);
    service.adjusted(answered(inForce, now, plan));
    return stateOf(now, quota);
  });
}
