import type { Decision } from '../decision.js';
import type { Limit } from '../limit.js';

/** A decision and the limit it was made under: a plan may have chosen another than the rule's own. */
export interface Answered {
  readonly decision: Decision;
  readonly limit: Limit;
}

/** The largest integer of a structured field (RFC 9651). */
const largest = 999_999_999_999_999;

const integer = (value: number): number => Math.min(largest, Math.max(0, Math.ceil(value)));

const seconds = (us: number): number => Math.max(1, Math.ceil(us / 1_000_000));

/** A structured field's string: rule names are printable ASCII, so only quotes and backslashes are escaped. */
const text = (value: string): string => `"${value.replace(/[\\"]/g, '\\$&')}"`;

/** The parameters of a policy: quota, window in whole seconds (rounded up, so never laxer), and unit. */
function policyParameters(limit: Limit): string | undefined {
  switch (limit.kind) {
    case 'tokenBucket': {
      const toFullUs = (limit.capacity * 1_000_000 * limit.creditUs) / limit.creditUnits;
      return `;q=${integer(limit.capacity)};w=${integer(seconds(toFullUs))}`;
    }
    case 'fixedWindow':
    case 'slidingWindow':
    case 'slidingLog':
      return `;q=${integer(limit.limit)};w=${integer(seconds(limit.windowUs))}`;
    case 'quota': {
      // Months and years have no fixed length, and w is one number.
      const length = { hour: 3600, day: 86_400, week: 604_800, month: undefined, year: undefined }[limit.period];
      return `;q=${integer(limit.limit)}${length === undefined ? '' : `;w=${length}`}`;
    }
    case 'concurrency':
      return `;q=${integer(limit.limit)};qu="concurrent-requests"`;
    case 'unlimited':
      return undefined;
  }
}

const rendered = new WeakMap<Limit, string>();

function policyMember({ decision, limit }: Answered): string | undefined {
  const parameters = rendered.get(limit) ?? policyParameters(limit);
  if (parameters === undefined) return undefined;
  rendered.set(limit, parameters);
  return text(decision.rule) + parameters;
}

/** Seconds within which the client can use no more than what remains; undefined where time says nothing. */
function effectiveWindow({ decision, limit }: Answered): number | undefined {
  if (!decision.allowed) return Number.isFinite(decision.retryAfterMs) ? Math.max(1, Math.ceil(decision.retryAfterMs / 1000)) : undefined;
  if (limit.kind === 'concurrency') return undefined;
  // A drained bucket has its next unit after one emission interval, long before it is full.
  if (limit.kind === 'tokenBucket' && decision.remaining === 0) return seconds((1_000_000 * limit.creditUs) / limit.creditUnits);
  return Math.max(1, Math.ceil(decision.resetAfterMs / 1000));
}

function stateMember(answered: Answered): string | undefined {
  const { decision, limit } = answered;
  if (limit.kind === 'unlimited' || decision.degraded) return undefined;
  const t = effectiveWindow(answered);
  return `${text(decision.rule)};r=${integer(decision.remaining)}${t === undefined ? '' : `;t=${integer(t)}`}`;
}

/**
 * The value of `Retry-After` (RFC 9110, section 10.2.3): whole seconds of 1 or more, rounded up, the longest wait of those that
 * refuse; undefined if nothing refuses, or if the request can never pass as it is.
 */
export function retryAfter(decisions: readonly Decision[]): string | undefined {
  const waits = decisions.filter(({ allowed }) => !allowed).map(({ retryAfterMs }) => retryAfterMs);
  if (waits.length === 0 || waits.includes(Number.POSITIVE_INFINITY)) return undefined;
  return String(Math.max(1, Math.ceil(Math.max(...waits) / 1000)));
}

/**
 * The response header fields that tell a client its limits: `RateLimit-Policy` and `RateLimit` as in
 * draft-ietf-httpapi-ratelimit-headers-11, several rules in one field, and `Retry-After` on a refusal, never before the time `t`
 * of a rule that refused. Units are requests, times whole seconds rounded up. What a degraded decision (made without the shared
 * store) believes is no number to plan with: its rule has no `RateLimit` member. Shadow and unlimited rules are left out.
 *
 * @example
 * ```ts
 * import { createLimiter, tokenBucket } from 'headgate';
 * import { rateLimitFields } from 'headgate/http';
 *
 * const limit = tokenBucket({ capacity: 20, refill: '2/s' });
 * const limiter = createLimiter({ rules: { search: { limit } } });
 * const decision = await limiter.check('search', 'key42');
 * console.log(rateLimitFields([{ decision, limit }]));
 * // { 'RateLimit-Policy': '"search";q=20;w=10', RateLimit: '"search";r=19;t=1' }
 * ```
 */
export function rateLimitFields(answers: readonly Answered[]): Record<string, string> {
  const binding = answers.filter(({ decision }) => !decision.shadow);
  const fields: Record<string, string> = {};
  const defined = (members: (string | undefined)[]): string => [...new Set(members)].filter((member) => member !== undefined).join(', ');
  const policies = defined(binding.map(policyMember));
  if (policies !== '') fields['RateLimit-Policy'] = policies;
  const states = defined(binding.map(stateMember));
  if (states !== '') fields['RateLimit'] = states;
  const wait = retryAfter(binding.map(({ decision }) => decision));
  if (wait !== undefined) fields['Retry-After'] = wait;
  return fields;
}
