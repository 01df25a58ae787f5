import type { CheckRequest, Decision } from 'headgate';
import type { Answered } from 'headgate/http';
import { answered, type InForce, type Service } from './service.js';

/** A decision with the id by which it can be taken back; absent if it took nothing. */
export interface Identified {
  readonly decision: Decision;
  readonly id: string | undefined;
}

/** The answer to a check: the binding decision, and all of them in the order asked. */
export interface CheckAnswer {
  readonly allowed: boolean;
  readonly binding: Identified;
  readonly decisions: readonly Identified[];
  readonly answers: readonly Answered[];
}

function identify({ receipts }: Service, { limiter }: InForce, decision: Decision): Identified {
  const receipt = limiter.receipt(decision);
  return { decision, id: receipt && receipts.seal(receipt) };
}

/** Checks one rule, or several as one group. */
export async function check(service: Service, checks: readonly CheckRequest[]): Promise<CheckAnswer> {
  const inForce = service.current();
  const group = await inForce.limiter.checkAll(checks);
  service.observe(group.decisions);
  const decisions = group.decisions.map((decision) => identify(service, inForce, decision));
  const binding = decisions.find(({ decision }) => decision.rule === group.rule && decision.key === group.key && decision.cost === group.cost && decision.allowed === group.allowed);
  const [first] = decisions;
  if (first === undefined) throw new Error('a check was answered by no decision');
  return {
    allowed: group.allowed,
    binding: binding ?? first,
    decisions,
    answers: group.decisions.map((decision, index) => answered(inForce, decision, checks[index]?.plan)),
  };
}

/** What a check would say now; takes nothing. */
export async function peek(service: Service, { rule, key, ...options }: CheckRequest): Promise<Answered> {
  const inForce = service.current();
  return answered(inForce, await inForce.limiter.peek(rule, key, options), options.plan);
}

/** Takes units that are settled or cancelled later, by any server. */
export async function reserve(service: Service, { rule, key, ...options }: CheckRequest): Promise<Identified & { readonly answer: Answered }> {
  const inForce = service.current();
  const { decision } = await inForce.limiter.reserve(rule, key, options);
  service.observe([decision]);
  return { ...identify(service, inForce, decision), answer: answered(inForce, decision, options.plan) };
}
