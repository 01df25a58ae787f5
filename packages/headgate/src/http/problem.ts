import type { Decision, GroupDecision } from '../decision.js';
import { ConfigError, show } from '../errors.js';
import { listOf, retryAfter } from './headers.js';

/** The media type of {@link Problem} bodies (RFC 9457, section 3). */
export const problemContentType = 'application/problem+json';

/** An RFC 9457 problem. */
export interface Problem {
  /** What kind of problem, as a URI; `about:blank` says no more than the status. */
  readonly type: string;
  readonly title: string;
  /** The response's status: 400 to 599. */
  readonly status: number;
  readonly detail?: string;
  /** Where in the request's body: JSON Pointers (RFC 6901), each with what is wrong there. */
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
  /** Names of the rules that refused (draft-ietf-httpapi-ratelimit-headers-11, section 5). */
  readonly 'violated-policies'?: readonly string[];
}

const types = 'https://iana.org/assignments/http-problem-types#';

/**
 * A problem of any kind.
 *
 * @param options.status - 400 to 599; the response must have the same
 * @param options.type - a URI; `about:blank` by default
 * @param options.detail - for people, of this occurrence; never with keys or tokens in it
 * @param options.errors - what is wrong where in the request's body
 * @throws ConfigError naming the status or the title
 * @example
 * ```ts
 * import { problem } from 'headgate/http';
 *
 * problem({ status: 400, title: 'Bad request', errors: [{ pointer: '/checks/0/cost', detail: 'expected a whole number of at least 1' }] });
 * ```
 */
export function problem(options: { type?: string; title: string; status: number; detail?: string; errors?: Problem['errors'] }): Problem {
  const { type = 'about:blank', title, status, detail, errors } = options;
  if (!Number.isInteger(status) || status < 400 || status > 599) {
    throw new ConfigError('HEADGATE_BAD_OPTION', `problem.status: expected a whole number from 400 to 599; got ${show(status)}`);
  }
  if (typeof title !== 'string' || title === '') {
    throw new ConfigError('HEADGATE_BAD_OPTION', `problem.title: expected a short text; got ${show(title)}`);
  }
  return { type, title, status, ...(detail === undefined ? undefined : { detail }), ...(errors === undefined ? undefined : { errors }) };
}

/** Names only: the key is whose budget it is, and that is nobody else's business. */
const violated = (refused: readonly Decision[]): Pick<Problem, 'violated-policies'> => ({
  'violated-policies': [...new Set(refused.map(({ rule }) => rule))],
});

/**
 * The problem `quota-exceeded`, status 429 (draft-ietf-httpapi-ratelimit-headers-11, section 5), naming the rules that refuse.
 *
 * @example
 * ```ts
 * import { createLimiter, fixedWindow } from 'headgate';
 * import { quotaExceeded } from 'headgate/http';
 *
 * const limiter = createLimiter({ rules: { login: { limit: fixedWindow({ limit: 0, window: '1m' }) } } });
 * quotaExceeded(await limiter.check('login', 'ada'))['violated-policies']; // ['login']
 * ```
 */
export function quotaExceeded(decisions: Decision | GroupDecision | readonly Decision[]): Problem {
  const refused = listOf(decisions).filter(({ allowed }) => !allowed);
  return { type: `${types}quota-exceeded`, title: 'Quota exceeded', status: 429, detail: detailOf(refused), ...violated(refused) };
}

function detailOf(refused: readonly Decision[]): string {
  if (refused.some(({ reason }) => reason === 'cost-above-limit')) return 'This request costs more than its limit ever allows.';
  const wait = retryAfter(refused);
  return wait === undefined ? 'Too many requests.' : `Too many requests; this one may pass in ${wait} s.`;
}

/**
 * The problem `temporary-reduced-capacity`, status 503 (draft-ietf-httpapi-ratelimit-headers-11, section 5): a limit cannot be
 * checked, and its rule refuses then.
 *
 * @example
 * ```ts
 * import { temporaryReducedCapacity } from 'headgate/http';
 *
 * temporaryReducedCapacity([]).status; // 503
 * ```
 */
export function temporaryReducedCapacity(decisions: Decision | GroupDecision | readonly Decision[]): Problem {
  const refused = listOf(decisions).filter(({ allowed }) => !allowed);
  return {
    type: `${types}temporary-reduced-capacity`,
    title: 'Temporary reduced capacity',
    status: 503,
    detail: 'A limit cannot be checked at the moment; please try again.',
    ...violated(refused),
  };
}

/**
 * The problem that a refusal is: {@link quotaExceeded}, or, where nothing but the store's absence refuses,
 * {@link temporaryReducedCapacity}. Of a mixture only the limits that were really exceeded are named. Undefined if nothing refuses.
 *
 * @example
 * ```ts
 * import { createLimiter, fixedWindow } from 'headgate';
 * import { problemOf } from 'headgate/http';
 *
 * const limiter = createLimiter({ rules: { login: { limit: fixedWindow({ limit: 0, window: '1m' }) } } });
 * console.log(problemOf(await limiter.check('login', 'ada'))?.status); // 429
 * ```
 */
export function problemOf(decisions: Decision | GroupDecision | readonly Decision[]): Problem | undefined {
  const refused = listOf(decisions).filter(({ allowed }) => !allowed);
  if (refused.length === 0) return undefined;
  const exceeded = refused.filter(({ reason }) => reason !== 'store-unavailable');
  return exceeded.length === 0 ? temporaryReducedCapacity(refused) : quotaExceeded(exceeded);
}
