import type { CheckRequest } from 'headgate';
import type { Answered } from 'headgate/http';
import { customerOf, describePart, keyOf, type Identifiable } from '../rules/identify.js';
import { mostTogether } from '../rules/match-crowd.js';
import { planOf } from '../rules/match-plan.js';
import type { Asked } from '../rules/matcher.js';
import { answered, decidedTogether, planned, type Service } from './service.js';

/** What a gateway asks: may this pass? Under several lines or hosts the rules of each apply. */
export interface GateQuestion extends Identifiable, Pick<Asked, 'lines' | 'hosts'> {}

/**
 * Pass or refuse, with the decisions; or refuse because a rule's key is `lacking`: `no apiKey`, `several values of apiKey`. Without a rule it is the
 * plan. Or refuse because more rules `matched` than can be decided together: which of them to leave out, nobody could say.
 */
export type GateAnswer =
  | { readonly pass: boolean; readonly answers: readonly Answered[] }
  | { readonly pass: false; readonly lacking: string; readonly rule: string | undefined }
  | { readonly pass: false; readonly matched: number };

/** Decides whether a gateway may pass a request on: all matching rules as one group. */
export async function gate(service: Service, question: GateQuestion): Promise<GateAnswer> {
  const inForce = service.current();
  const { matcher, sources } = inForce.rules;
  const told = planOf(sources.plan, question, inForce.rules);
  if ('several' in told) return { pass: false, lacking: `several values of ${describePart(told.several)}`, rule: undefined };
  const { plan } = told;
  const checks: CheckRequest[] = [];
  const { lines, hosts, headers } = question;
  const customer = inForce.isPlain ? undefined : customerOf(question, inForce.rules);
  for (const { name, key, missingKey } of matcher.match({ lines, hosts, headers, plan })) {
    const found = keyOf(key, question, inForce.rules);
    if ('key' in found) checks.push(planned(inForce, { rule: name, key: found.key, ...(plan !== undefined && { plan }) }, customer));
    else if ('several' in found) return { pass: false, lacking: `several values of ${describePart(found.several)}`, rule: name };
    else if (missingKey === 'refuse') return { pass: false, lacking: `no ${describePart(found.missing)}`, rule: name };
  }
  if (checks.length === 0) return { pass: true, answers: [] };
  if (checks.length > mostTogether) {
    service.crowded({ of: matcher, rules: checks.map(({ rule }) => rule) });
    return { pass: false, matched: checks.length };
  }
  const group = await decidedTogether(inForce, checks);
  const answers = group.decisions.map((decision, index) => answered(inForce, decision, checks[index]?.plan));
  service.observe(answers);
  return { pass: group.allowed, answers };
}
