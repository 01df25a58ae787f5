import type { Decision } from 'headgate';
import { limitInForce } from '../rules/compile.js';
import { planned, type Service } from './service.js';

/** A key under one rule, as a check of one unit would find it now. */
export interface KeyState {
  readonly rule: string;
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds; `Infinity` if one unit can never pass. */
  readonly retryAfterMs: number;
  readonly resetAfterMs: number;
  readonly wouldAllow: boolean;
  readonly reason: Decision['reason'];
  readonly shadow: boolean;
  /** Told without the shared store: others may know otherwise. */
  readonly degraded: boolean;
}

export interface KeyStates {
  /** Those of whose budget something is used, and those that refuse; all if asked for. */
  readonly states: readonly KeyState[];
  /** Rules looked at. */
  readonly rules: number;
}

/** Rules looked at together: as many as one script call carries. */
const atOnce = 64;

/** Looks up a key under every rule, or one, under the plan, override or exemption that holds for it; takes nothing. */
export async function keyStates(
  service: Service,
  key: string,
  { rule, all = false }: { rule?: string | undefined; all?: boolean },
): Promise<KeyStates> {
  const inForce = service.current();
  const { rules, limiter } = inForce;
  const look = (name: string): Promise<Decision> => {
    const { plan } = planned(inForce, { rule: name, key });
    return limiter.peek(name, key, plan === undefined ? undefined : { plan });
  };
  const names = rule === undefined ? [...rules.rules.keys()] : rules.rules.has(rule) ? [rule] : [];
  const states: KeyState[] = [];
  for (let at = 0; at < names.length; at += atOnce) {
    const peeked = await Promise.all(names.slice(at, at + atOnce).map(look));
    for (const { rule: name, limit, remaining, retryAfterMs, resetAfterMs, wouldAllow, reason, shadow, degraded } of peeked) {
      if (!all && rule === undefined && wouldAllow && remaining >= limit) continue;
      states.push({ rule: name, limit, remaining, retryAfterMs, resetAfterMs, wouldAllow, reason, shadow, degraded });
    }
  }
  return { states, rules: names.length };
}

/** Forgets a key's counter under a rule; the checkpoint of a quota too, which else would bring it back. */
export async function resetKey(service: Service, { rule, key }: { readonly rule: string; readonly key: string }): Promise<void> {
  const inForce = service.current();
  const { plan } = planned(inForce, { rule, key });
  const limit = limitInForce(inForce.rules, rule, plan);
  await service.whileLowering({ rule, key }, async () => {
    await inForce.limiter.reset(rule, key);
    if (limit !== undefined) service.returned({ rule, key, plan, limit }, Infinity);
  });
}
