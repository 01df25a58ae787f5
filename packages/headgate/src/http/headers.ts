import type { Decision, GroupDecision } from '../decision.js';
import { ConfigError, show } from '../errors.js';
import type { Limit, TokenBucketLimit } from '../limit.js';

/** A limit and the name that clients know it by. Made by {@link policyOf}, or by hand from a rule's name. */
export interface Policy {
  readonly name: string;
  readonly limit: Limit;
  /** Whose budget it is, for the client to tell budgets apart (`pk`). It goes out as it is: nothing secret or personal. */
  readonly partitionKey?: Uint8Array;
  /** What one unit is (`qu`), such as `'content-bytes'`; requests if not said. */
  readonly quotaUnit?: string;
}

/** A decision and the limit it was made under: a plan may have chosen another than the rule's own. */
export interface Answered {
  readonly decision: Decision;
  readonly limit: Limit;
  /** As in {@link Policy}. */
  readonly partitionKey?: Uint8Array;
  /** As in {@link Policy}. */
  readonly quotaUnit?: string;
}

/** The largest integer of a structured field (RFC 9651, section 3.3.1). */
const largest = 999_999_999_999_999;

const integer = (value: number): number => Math.min(largest, Math.max(0, Math.ceil(value)));

/** Whole units: rounded down, since one too many would be an invitation. */
export const units = (value: number): number => Math.min(largest, Math.max(0, Math.floor(value)));

/** Whole seconds of 1 or more, rounded up. */
export const seconds = (us: number): number => Math.max(1, integer(us / 1_000_000));

/** A structured field's string: names are printable ASCII, so only quotes and backslashes are escaped. */
const text = (value: string): string => (/[\\"]/.test(value) ? `"${value.replace(/[\\"]/g, '\\$&')}"` : `"${value}"`);

const partition = (key: Uint8Array | undefined): string =>
  key === undefined ? '' : `;pk=:${Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('base64')}:`;

const emissionUs = ({ creditUnits, creditUs }: TokenBucketLimit): number => (1_000_000 * creditUs) / creditUnits;

/** The parameters of a policy: quota, window in whole seconds (rounded up, so never laxer), and unit. */
function parametersOf(limit: Limit): string | undefined {
  switch (limit.kind) {
    case 'tokenBucket':
      return `;q=${units(limit.capacity)};w=${seconds(limit.capacity * emissionUs(limit))}`;
    case 'fixedWindow':
    case 'slidingWindow':
    case 'slidingLog':
      return `;q=${units(limit.limit)};w=${seconds(limit.windowUs)}`;
    case 'quota': {
      // w is one number: months and years have no fixed length, and neither have days where clocks are put forward and back.
      const inUtc = limit.timeZone === 'UTC' ? { day: 86_400, week: 604_800, month: undefined, year: undefined } : undefined;
      const length = limit.period === 'hour' ? 3600 : inUtc?.[limit.period];
      return `;q=${units(limit.limit)}${length === undefined ? '' : `;w=${length}`}`;
    }
    case 'concurrency':
      return `;q=${units(limit.limit)};qu="concurrent-requests"`;
    case 'consecutiveFailures':
      return `;q=${units(limit.limit)};w=${seconds(limit.forgetUs)}`;
    case 'unlimited':
      return undefined;
  }
}

/** What never changes in the members of a limit. */
interface Rendered {
  readonly name: string;
  /** The name as a structured field's string. */
  readonly quoted: string;
  /** The member of `RateLimit-Policy`, without what is said of a key; undefined for unlimited rules. */
  readonly policy: string | undefined;
}

/** Under the name it had last: almost every limit has only one. */
const rendered = new WeakMap<Limit, Rendered>();

function renderedOf(name: string, limit: Limit): Rendered {
  const known = rendered.get(limit);
  if (known?.name === name) return known;
  const [quoted, parameters] = [text(name), parametersOf(limit)];
  const made = { name, quoted, policy: parameters === undefined ? undefined : quoted + parameters };
  rendered.set(limit, made);
  return made;
}

const unit = (limit: Limit, quotaUnit: string | undefined): string =>
  quotaUnit === undefined || limit.kind === 'concurrency' ? '' : `;qu=${text(quotaUnit)}`;

/** A member of `RateLimit-Policy`; undefined for unlimited rules. */
export function policyMember(name: string, limit: Limit, { partitionKey, quotaUnit }: Omit<Policy, 'name'>): string | undefined {
  const { policy } = renderedOf(name, limit);
  return policy === undefined ? undefined : policy + unit(limit, quotaUnit) + partition(partitionKey);
}

/** Throws unless it is legal text of a structured field: one bad name would make clients ignore the whole field (RFC 9651). */
export function checkFieldText(what: string, value: unknown): void {
  if (typeof value === 'string' && /^[\x20-\x7e]{1,128}$/.test(value)) return;
  throw new ConfigError('HEADGATE_BAD_OPTION', `${what} is 1 to 128 printable ASCII characters; got ${show(value)}; rename it`);
}

/**
 * Names a limit for {@link policyHeader}.
 *
 * @param name - 1 to 128 printable ASCII characters: one bad name would make clients ignore the whole field (RFC 9651)
 * @param options.quotaUnit - what one unit is, such as `'content-bytes'`; of the same characters
 * @throws ConfigError naming the name or the unit
 * @example
 * ```ts
 * import { slidingLog } from 'headgate';
 * import { policyHeader, policyOf } from 'headgate/http';
 *
 * policyHeader([policyOf('perIp', slidingLog({ limit: 100, window: '1m' }))]); // '"perIp";q=100;w=60'
 * ```
 */
export function policyOf(name: string, limit: Limit, options: Pick<Policy, 'partitionKey' | 'quotaUnit'> = {}): Policy {
  checkFieldText("policyOf: a policy's name", name);
  if (options.quotaUnit !== undefined) checkFieldText("policyOf: a quota's unit", options.quotaUnit);
  return Object.freeze({ name, limit, ...options });
}

/** A structured list of what has members, each once; undefined if there are none. */
export function list<T>(all: readonly T[], memberOf: (one: T) => string | undefined): string | undefined {
  const [only] = all;
  if (only !== undefined && all.length === 1) return memberOf(only);
  const distinct = [...new Set(all.map(memberOf))].filter((member) => member !== undefined);
  return distinct.length === 0 ? undefined : distinct.join(', ');
}

/**
 * The value of `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11, section 3): for each limit its quota `q` in units and
 * its window `w` in seconds, rounded up. A token bucket's `w` is the time from empty to full; a concurrency limit has none, and
 * says `qu="concurrent-requests"`; a quota has one only where the period's length never changes: hours, and days and weeks in
 * UTC; of consecutive failures `w` is how long they are remembered. Undefined if there is nothing but unlimited rules: then send no
 * field.
 *
 * @example
 * ```ts
 * import { concurrency } from 'headgate';
 * import { policyHeader } from 'headgate/http';
 *
 * policyHeader([{ name: 'exports', limit: concurrency({ limit: 3, expires: '5m' }) }]); // '"exports";q=3;qu="concurrent-requests"'
 * ```
 */
export function policyHeader(policies: readonly Policy[]): string | undefined {
  return list(policies, (policy) => policyMember(policy.name, policy.limit, policy));
}

/**
 * Seconds within which the client can use no more than what remains; undefined where time says nothing. For a refusal, when to
 * come again; for a window, when it ends. A bucket has no end: its `t` is the time in which as many units flow back as remain, so
 * that "r in every t" is a pace it keeps up with. (The time to full is not: with 19 of 20 left at 2/s it would say 19 a second.)
 * After the attempts that are left the first wait begins, if not a longer one.
 */
function effectiveWindow({ decision, limit }: Answered): number | undefined {
  const { allowed, remaining, retryAfterMs, resetAfterMs } = decision;
  if (!allowed && Number.isFinite(retryAfterMs)) return seconds(retryAfterMs * 1000);
  if (limit.kind === 'concurrency' || !Number.isFinite(resetAfterMs)) return undefined;
  if (limit.kind === 'consecutiveFailures') return seconds(Math.min(limit.firstWaitUs, resetAfterMs > 0 ? resetAfterMs * 1000 : Infinity));
  if (limit.kind !== 'tokenBucket') return seconds(resetAfterMs * 1000);
  // An empty bucket, or one in debt, has its next unit when all the others are still missing.
  return seconds(remaining > 0 ? remaining * emissionUs(limit) : resetAfterMs * 1000 - (limit.capacity - 1) * emissionUs(limit));
}

/** Whether a decision has numbers to tell: what was decided without the shared store has none to plan with. */
export const hasNumbers = ({ decision, limit }: Answered): boolean =>
  limit.kind !== 'unlimited' && !decision.degraded && decision.reason !== 'store-unavailable';

/** A member of `RateLimit`, with its `t` as the draft means it. */
export const stateMember = (answered: Answered): string | undefined => memberWith(answered, effectiveWindow);

/** The same with another `t`. */
export function memberWith(answered: Answered, effective: (answered: Answered) => number | undefined): string | undefined {
  const { decision, limit, partitionKey } = answered;
  if (!hasNumbers(answered)) return undefined;
  const t = effective(answered);
  return `${renderedOf(decision.rule, limit).quoted};r=${units(decision.remaining)}${t === undefined ? '' : `;t=${t}`}${partition(partitionKey)}`;
}

/** Of two decisions, whether the first binds more. */
export const isStricter = (a: Decision, b: Decision): boolean =>
  a.allowed !== b.allowed ? !a.allowed : a.retryAfterMs !== b.retryAfterMs ? a.retryAfterMs > b.retryAfterMs : a.remaining < b.remaining;

/** What clients are told of: shadow rules bind nobody, and of several keys of one rule the tightest counts. */
export function told(answers: readonly Answered[]): readonly Answered[] {
  const [only] = answers;
  if (only !== undefined && answers.length === 1) return only.decision.shadow ? [] : answers;
  const byName = new Map<string, Answered>();
  for (const answered of answers) {
    if (answered.decision.shadow) continue;
    const name = text(answered.decision.rule) + partition(answered.partitionKey);
    const other = byName.get(name);
    if (other === undefined || isStricter(answered.decision, other.decision)) byName.set(name, answered);
  }
  return [...byName.values()];
}

/**
 * The value of `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11, section 4): for each rule the units left, `r`, and the
 * seconds `t`, rounded up, within which the client can use no more than those: to the end of a window, and for a token bucket
 * the time in which as many flow back; of consecutive failures the first wait, though a longer one may have begun. Of a rule that
 * refused, `t` is the wait; a concurrency limit that passes has none. Left out are unlimited and shadow rules, and what was decided
 * without the shared store: that is no number to plan with. Of several keys of one rule, without `partitionKey` only the tightest is
 * told. Undefined if nothing is left: then send no field.
 *
 * @example
 * ```ts
 * import { createLimiter, fixedWindow } from 'headgate';
 * import { rateLimitHeader } from 'headgate/http';
 *
 * const limit = fixedWindow({ limit: 5, window: '1m', from: 'first-request' });
 * const limiter = createLimiter({ rules: { login: { limit } } });
 * rateLimitHeader([{ decision: await limiter.check('login', 'ada'), limit }]); // '"login";r=4;t=60'
 * ```
 */
export function rateLimitHeader(answers: readonly Answered[]): string | undefined {
  return list(told(answers), stateMember);
}

/** One decision, a group's, or several: as a list. */
export function listOf(decisions: Decision | GroupDecision | readonly Decision[]): readonly Decision[] {
  if ('decisions' in decisions) return decisions.decisions;
  return 'rule' in decisions ? [decisions] : decisions;
}

/**
 * The value of `Retry-After` (RFC 9110, section 10.2.3): whole seconds of 1 or more, rounded up, the longest wait of those that
 * refuse; undefined if nothing refuses, or if the request can never pass as it is.
 *
 * @example
 * ```ts
 * import { createLimiter, fixedWindow } from 'headgate';
 * import { retryAfter } from 'headgate/http';
 *
 * const limiter = createLimiter({ rules: { login: { limit: fixedWindow({ limit: 5, window: '1m' }) } } });
 * const wait = retryAfter(await limiter.check('login', 'ada')); // undefined: allowed
 * ```
 */
export function retryAfter(decisions: Decision | GroupDecision | readonly Decision[]): string | undefined {
  const all = listOf(decisions);
  if (all.every(({ allowed }) => allowed)) return undefined;
  const waits = all.filter(({ allowed }) => !allowed).map(({ retryAfterMs }) => retryAfterMs);
  if (waits.length === 0 || waits.includes(Number.POSITIVE_INFINITY)) return undefined;
  return String(seconds(Math.max(...waits) * 1000));
}
