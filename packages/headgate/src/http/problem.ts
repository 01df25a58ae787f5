import type { Decision } from '../decision.js';

/** The media type of {@link Problem} bodies (RFC 9457). */
export const problemContentType = 'application/problem+json';

/** An RFC 9457 problem. */
export interface Problem {
  /** What kind of problem, as a URI; `about:blank` says no more than the status. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail?: string;
  /** Where in the request's body: JSON Pointers (RFC 6901), each with what is wrong there. */
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
  /** Names of the rules that refused (draft-ietf-httpapi-ratelimit-headers-11, section 5). */
  readonly 'violated-policies'?: readonly string[];
}

const types = 'https://iana.org/assignments/http-problem-types#';

/**
 * The problem that a refusal is: `quota-exceeded` with 429, or, where nothing but the store's absence refuses,
 * `temporary-reduced-capacity` with 503 (draft-ietf-httpapi-ratelimit-headers-11, section 5). Undefined if nothing refuses.
 *
 * @example
 * ```ts
 * import { createLimiter, fixedWindow } from 'headgate';
 * import { problemOf } from 'headgate/http';
 *
 * const limiter = createLimiter({ rules: { login: { limit: fixedWindow({ limit: 0, window: '1m' }) } } });
 * console.log(problemOf([await limiter.check('login', 'ada')])?.status); // 429
 * ```
 */
export function problemOf(decisions: readonly Decision[]): Problem | undefined {
  const refused = decisions.filter(({ allowed }) => !allowed);
  if (refused.length === 0) return undefined;
  const policies = { 'violated-policies': [...new Set(refused.map(({ rule }) => rule))] };
  if (refused.every(({ reason }) => reason === 'store-unavailable')) {
    return {
      type: `${types}temporary-reduced-capacity`,
      title: 'Temporary reduced capacity',
      status: 503,
      detail: 'This limit cannot be checked at the moment; please try again.',
      ...policies,
    };
  }
  return { type: `${types}quota-exceeded`, title: 'Quota exceeded', status: 429, detail: detailOf(refused), ...policies };
}

function detailOf(refused: readonly Decision[]): string {
  if (refused.some(({ retryAfterMs }) => retryAfterMs === Number.POSITIVE_INFINITY)) return 'This request costs more than its limit ever allows.';
  const seconds = Math.max(1, ...refused.map(({ retryAfterMs }) => Math.ceil(retryAfterMs / 1000)));
  return `Too many requests; this one may pass in ${seconds} s.`;
}
