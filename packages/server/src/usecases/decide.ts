import type { CheckRequest, Decision } from 'headgate';
import type { Answered } from 'headgate/http';
import { answered, decidedTogether, planned, type InForce, type Service, type Together } from './service.js';

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

/** A check asks for a rule that is not in force. */
export class UnknownRuleError extends Error {
  override readonly name = 'UnknownRuleError';
  /** Which of the checks, from 0. */
  readonly index: number;
  constructor(index: number) {
    super('no rule of this name is in force');
    this.index = index;
  }
}

function assertKnown({ rules }: InForce, checks: readonly CheckRequest[]): void {
  const index = checks.findIndex(({ rule }) => !rules.rules.has(rule));
  if (index >= 0) throw new UnknownRuleError(index);
}

function identify({ receipts }: Service, { limiter }: InForce, decision: Decision): Identified {
  const receipt = limiter.receipt(decision);
  return { decision, id: receipt && receipts.seal(receipt) };
}

const compared = ['rule', 'key', 'cost', 'allowed', 'remaining', 'retryAfterMs', 'resetAfterMs', 'reason'] as const;

/** Which of a group's decisions is the binding one. Of equal ones any is. */
const bindingOf = ({ binding, decisions }: Together): number =>
  decisions.findIndex((decision) => decision === binding || compared.every((name) => decision[name] === binding[name]));

/** Checks one rule, or several as one group. */
export async function check(service: Service, asked: readonly CheckRequest[]): Promise<CheckAnswer> {
  const inForce = service.current();
  assertKnown(inForce, asked);
  const checks = asked.map((one) => planned(inForce, one));
  const group = await decidedTogether(inForce, checks);
  const answers = group.decisions.map((decision, index) => answered(inForce, decision, checks[index]?.plan));
  service.observe(answers);
  const decisions = group.decisions.map((decision) => identify(service, inForce, decision));
  const binding = decisions[bindingOf(group)];
  if (binding === undefined) throw new Error('a group was answered by no decision of its own');
  return {
    allowed: group.allowed,
    binding,
    decisions,
    answers,
  };
}

/** What a check would say now; takes nothing. */
export async function peek(service: Service, asked: CheckRequest): Promise<Answered> {
  const inForce = service.current();
  assertKnown(inForce, [asked]);
  const { rule, key, ...options } = planned(inForce, asked);
  return answered(inForce, await inForce.limiter.peek(rule, key, options), options.plan);
}

/** Takes units that are settled or cancelled later, by any server. */
export async function reserve(service: Service, asked: CheckRequest): Promise<Identified & { readonly answer: Answered }> {
  const inForce = service.current();
  assertKnown(inForce, [asked]);
  const { rule, key, ...options } = planned(inForce, asked);
  const { decision } = await inForce.limiter.reserve(rule, key, options);
  const answer = answered(inForce, decision, options.plan);
  service.observe([answer]);
  return { ...identify(service, inForce, decision), answer };
}
