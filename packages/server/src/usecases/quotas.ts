import { periodEndOf } from './periods.js';
import { limitInForce } from '../rules/compile.js';
import { planned, type Service } from './service.js';

/** How a key stands under a quota. */
export interface QuotaState {
  readonly rule: string;
  readonly used: number;
  readonly limit: number;
  readonly remaining: number;
  readonly resetsAt: string;
  /** Told without the shared store. */
  readonly degraded: boolean;
}

/** How a key stands under every quota in force; takes nothing. */
export async function quotasOf(service: Service, key: string, plan: string | undefined): Promise<QuotaState[]> {
  const inForce = service.current();
  const states: QuotaState[] = [];
  for (const name of inForce.rules.rules.keys()) {
    const { rule, ...options } = planned(inForce, { rule: name, key, ...(plan !== undefined && { plan }) });
    // Most rules are none; which one a customer has depends on his plan.
    const { plan: under } = options;
    if (limitInForce(inForce.rules, rule, under)?.kind !== 'quota') continue;
    const decision = await inForce.limiter.peek(rule, key, under === undefined ? undefined : { plan: under });
    const { limit, remaining, degraded } = decision;
    states.push({ rule, used: limit - remaining, limit, remaining, resetsAt: new Date(periodEndOf(decision)).toISOString(), degraded });
  }
  return states;
}
