import type { CheckRequest } from 'headgate';
import type { Answered } from 'headgate/http';
import { describePart, keyOf, type Identifiable } from '../rules/identify.js';
import { segmentsOf } from '../rules/match.js';
import { answered, type Service } from './service.js';

/** A request by its first line. */
export interface Line {
  readonly method: string;
  readonly target: string;
}

/** What a gateway asks: may this pass? Under several lines the rules of each apply. */
export interface GateQuestion extends Identifiable {
  readonly lines: readonly Line[];
}

/** Pass or refuse, with the decisions; or refuse because a rule's key is `lacking`: `no apiKey`, `several values of apiKey`. */
export type GateAnswer =
  | { readonly pass: boolean; readonly answers: readonly Answered[] }
  | { readonly pass: false; readonly lacking: string; readonly rule: string };

/** What one library call takes. */
const mostRules = 64;

/** Too many rules match one request to be decided together. */
export class TooManyRulesError extends Error {
  override readonly name = 'TooManyRulesError';
}

/** Decides whether a gateway may pass a request on: all matching rules as one group. */
export async function gate(service: Service, question: GateQuestion): Promise<GateAnswer> {
  const inForce = service.current();
  const asked = question.lines.map(({ method, target }) => ({ method, segments: segmentsOf(target) }));
  const checks: CheckRequest[] = [];
  for (const { name, match, key, missingKey } of inForce.rules.rules.values()) {
    if (match === undefined || !asked.some(match)) continue;
    const found = keyOf(key, question, inForce.rules);
    if ('key' in found) checks.push({ rule: name, key: found.key });
    else if ('several' in found) return { pass: false, lacking: `several values of ${describePart(found.several)}`, rule: name };
    else if (missingKey === 'refuse') return { pass: false, lacking: `no ${describePart(found.missing)}`, rule: name };
  }
  if (checks.length === 0) return { pass: true, answers: [] };
  if (checks.length > mostRules)
    throw new TooManyRulesError(`${checks.length} rules match this request; at most ${mostRules} are decided together`);
  const group = await inForce.limiter.checkAll(checks);
  service.observe(group.decisions);
  return { pass: group.allowed, answers: group.decisions.map((decision) => answered(inForce, decision, undefined)) };
}
