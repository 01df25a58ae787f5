import type { CheckRequest } from 'headgate';
import { trustsPeer, type Answered } from 'headgate/http';
import { describePart, keyOf, type Identifiable } from '../rules/identify.js';
import { answered, type Service } from './service.js';

/** A request that a gateway asks about. */
export interface GateRequest extends Identifiable {
  /** The request's own method and target, for gateways that ask with the request itself. */
  readonly method: string;
  readonly target: string;
}

/** Pass; refuse (with the decisions); or refuse because a rule's key is missing. */
export type GateAnswer =
  | { readonly pass: boolean; readonly answers: readonly Answered[] }
  | { readonly pass: false; readonly missing: string; readonly rule: string };

/** What one library call takes. */
const mostRules = 64;

/** Too many rules match one request to be decided together. */
export class TooManyRulesError extends Error {
  override readonly name = 'TooManyRulesError';
}

interface Asked {
  readonly method: string;
  readonly target: string;
}

const one = (value: string | readonly string[] | undefined): string | undefined => (typeof value === 'string' ? value : value?.[0]);

/**
 * The requests that a gateway may mean: by `X-Original-*`, by `X-Forwarded-*` from a trusted peer, else the request itself. Where both
 * pairs are there, one may be the client's own invention, so the rules of both apply: nobody picks a rule by adding a header.
 */
function askedAbout(request: GateRequest, trusted: boolean): Asked[] {
  const { headers, method } = request;
  const pair = (prefix: string): Asked | undefined => {
    const target = one(headers[`x-${prefix}-uri`]);
    return target === undefined ? undefined : { target, method: one(headers[`x-${prefix}-method`]) ?? method };
  };
  const original = pair('original');
  const forwarded = trusted ? pair('forwarded') : undefined;
  const asked = [original, forwarded].filter((each) => each !== undefined);
  return asked.length > 0 ? asked : [{ method, target: request.target }];
}

/** Decides whether a gateway may pass a request on: all matching rules as one group. */
export async function gate(service: Service, request: GateRequest): Promise<GateAnswer> {
  const inForce = service.current();
  const { rules, trust } = inForce.rules;
  const asked = askedAbout(request, trustsPeer(trust, request.socketAddress));
  const checks: CheckRequest[] = [];
  for (const rule of rules.values()) {
    if (!asked.some(({ method, target }) => rule.match?.matches(method, target))) continue;
    const found = keyOf(rule.key, request, inForce.rules);
    if ('key' in found) checks.push({ rule: rule.name, key: found.key });
    else if (rule.missingKey === 'refuse') return { pass: false, missing: describePart(found.missing), rule: rule.name };
  }
  if (checks.length === 0) return { pass: true, answers: [] };
  if (checks.length > mostRules) throw new TooManyRulesError(`${checks.length} rules match this request; at most ${mostRules} are decided together`);
  const group = await inForce.limiter.checkAll(checks);
  service.observe(group.decisions);
  return { pass: group.allowed, answers: group.decisions.map((decision) => answered(inForce, decision, undefined)) };
}
