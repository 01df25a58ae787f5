import { durationUs, longestUs, parseRate, type Duration, type Rate } from './duration.js';
import { ConfigError, rejectUnknownOptions, show } from './errors.js';

/** A calendar period of a {@link quota}. Weeks begin on Monday. */
export type Period = 'hour' | 'day' | 'week' | 'month' | 'year';

/** Millionths of a unit: what a bucket counts in. */
export const millionth = 1_000_000;

/** The largest limit or capacity, in units. */
export const largestLimit = 9e9;

export interface TokenBucketLimit {
  readonly kind: 'tokenBucket';
  readonly capacity: number;
  /** `creditUnits` millionths flow back in `creditUs` microseconds: the refill, reduced. */
  readonly creditUnits: number;
  readonly creditUs: number;
}
export interface FixedWindowLimit {
  readonly kind: 'fixedWindow';
  readonly limit: number;
  readonly windowUs: number;
  readonly from: 'epoch' | 'first-request';
}
export interface SlidingWindowLimit {
  readonly kind: 'slidingWindow';
  readonly limit: number;
  readonly windowUs: number;
}
export interface SlidingLogLimit {
  readonly kind: 'slidingLog';
  readonly limit: number;
  readonly windowUs: number;
}
export interface QuotaLimit {
  readonly kind: 'quota';
  readonly limit: number;
  readonly period: Period;
  readonly timeZone: string;
  /** 1 to 31, for months; 31 is the last day. */
  readonly billingDay: number;
}
export interface ConcurrencyLimit {
  readonly kind: 'concurrency';
  readonly limit: number;
  readonly expiresUs: number;
}
export interface ConsecutiveFailuresLimit {
  readonly kind: 'consecutiveFailures';
  readonly limit: number;
  /** Failures that cost no wait. */
  readonly free: number;
  readonly firstWaitUs: number;
  readonly longestWaitUs: number;
  /** Counted from the last attempt. */
  readonly forgetUs: number;
}
export interface UnlimitedLimit {
  readonly kind: 'unlimited';
}

/** An algorithm with its numbers, as a frozen value. Made by the functions below, never by hand. */
export type Limit =
  | TokenBucketLimit
  | FixedWindowLimit
  | SlidingWindowLimit
  | SlidingLogLimit
  | QuotaLimit
  | ConcurrencyLimit
  | ConsecutiveFailuresLimit
  | UnlimitedLimit;

/** A limit that counts in a store: every one but `unlimited`. */
export type CountedLimit = Exclude<Limit, UnlimitedLimit>;

/** A limit's `kind`. */
export type LimitKind = Limit['kind'];

function wholeFrom(where: string, value: unknown, [least, largest]: readonly [number, number]): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > largest) {
    throw new ConfigError('HEADGATE_BAD_LIMIT', `${where}: expected a whole number from ${least} to ${largest}; got ${show(value)}`);
  }
  return value;
}

const whole = (where: string, value: unknown, largest: number): number => wholeFrom(where, value, [0, largest]);

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/**
 * A token bucket: bursts of up to `capacity` units, refilled steadily. In any interval t at most capacity + refill x t
 * units pass, exactly. Leaky bucket (as a meter) and GCRA (ITU-T I.371) are the same limit under other names.
 *
 * @param options.capacity - the burst, in units: a whole number from 0 (always refuses) to 9e9
 * @param options.refill - whole units per time, such as `'2/s'`; from empty to full may take ten years at most
 * @throws ConfigError naming the option and its value
 * @example
 * ```ts
 * import { tokenBucket } from 'headgate';
 *
 * const limit = tokenBucket({ capacity: 20, refill: '2/s' }); // 20 at once, then one each half second
 * ```
 */
export function tokenBucket(options: { capacity: number; refill: Rate }): TokenBucketLimit {
  rejectUnknownOptions('tokenBucket', options, ['capacity', 'refill']);
  const capacity = whole('tokenBucket.capacity', options.capacity, largestLimit);
  const { units, perUs } = parseRate('tokenBucket.refill', options.refill);
  const divisor = gcd(units * millionth, perUs);
  const creditUnits = (units * millionth) / divisor;
  const creditUs = perUs / divisor;
  const fullUs = (capacity * millionth * creditUs) / creditUnits;
  if (fullUs > longestUs) {
    throw new ConfigError(
      'HEADGATE_BAD_LIMIT',
      `tokenBucket: capacity ${capacity} at refill ${show(options.refill)} takes over ten years to fill; lower the capacity or raise the refill`,
    );
  }
  return Object.freeze({ kind: 'tokenBucket', capacity, creditUnits, creditUs });
}

/**
 * A fixed window: at most `limit` units in each window. Up to twice the limit can pass across a window's edge;
 * take {@link slidingLog} or {@link tokenBucket} where that matters.
 *
 * @param options.limit - units per window: a whole number from 0 (always refuses) to 9e9
 * @param options.window - 1 ms to ten years
 * @param options.from - `'epoch'` (default): windows aligned to 1970-01-01T00:00Z, the same for every key;
 *   `'first-request'`: a key's window begins with its first request
 * @throws ConfigError naming the option and its value
 * @example
 * ```ts
 * import { fixedWindow } from 'headgate';
 *
 * const limit = fixedWindow({ limit: 5, window: '1m' });
 * ```
 */
export function fixedWindow(options: { limit: number; window: Duration; from?: 'epoch' | 'first-request' }): FixedWindowLimit {
  rejectUnknownOptions('fixedWindow', options, ['limit', 'window', 'from']);
  const from = options.from ?? 'epoch';
  if (from !== 'epoch' && from !== 'first-request') {
    throw new ConfigError('HEADGATE_BAD_OPTION', `fixedWindow.from: expected "epoch" or "first-request"; got ${show(from)}`);
  }
  const limit = whole('fixedWindow.limit', options.limit, largestLimit);
  return Object.freeze({ kind: 'fixedWindow', limit, windowUs: durationUs('fixedWindow.window', options.window), from });
}

/**
 * A sliding window counter: the current window's count plus the previous one's, weighted by how much of it still overlaps.
 * Approximate: in the worst case just under twice the limit passes in one window length, and a request may be refused
 * that a log would have passed; close to exact for even traffic.
 *
 * @param options.limit - units per window: a whole number from 0 (always refuses) to 9e9
 * @param options.window - 1 ms to ten years
 * @throws ConfigError naming the option and its value
 * @example
 * ```ts
 * import { slidingWindow } from 'headgate';
 *
 * const limit = slidingWindow({ limit: 1000, window: '1h' });
 * ```
 */
export function slidingWindow(options: { limit: number; window: Duration }): SlidingWindowLimit {
  rejectUnknownOptions('slidingWindow', options, ['limit', 'window']);
  const limit = whole('slidingWindow.limit', options.limit, largestLimit);
  return Object.freeze({ kind: 'slidingWindow', limit, windowUs: durationUs('slidingWindow.window', options.window) });
}

/**
 * A sliding log: at most `limit` units in any interval of one window, exactly. Keeps one entry of 12 bytes per request.
 *
 * @param options.limit - units per window: a whole number from 0 (always refuses) to 1,000
 * @param options.window - 1 ms to ten years
 * @throws ConfigError naming the option and its value
 * @example
 * ```ts
 * import { slidingLog } from 'headgate';
 *
 * const limit = slidingLog({ limit: 100, window: '1m' });
 * ```
 */
export function slidingLog(options: { limit: number; window: Duration }): SlidingLogLimit {
  rejectUnknownOptions('slidingLog', options, ['limit', 'window']);
  const limit = whole('slidingLog.limit', options.limit, 1000);
  return Object.freeze({ kind: 'slidingLog', limit, windowUs: durationUs('slidingLog.window', options.window) });
}

const periods: readonly Period[] = ['hour', 'day', 'week', 'month', 'year'];

/**
 * A quota: at most `limit` units in each calendar period. A guard, not the bill: counters live in Redis.
 *
 * @param options.limit - units per period: a whole number from 0 (always refuses) to 9e9
 * @param options.period - `'hour'`, `'day'`, `'week'` (from Monday), `'month'` or `'year'`
 * @param options.timeZone - an IANA time zone, `'UTC'` by default; a midnight that a clock change skips is the first instant that exists
 * @param options.billingDay - the day of the month a month begins on: 1 (default) to 31; a month that is shorter begins on its last day
 * @throws ConfigError naming the option and its value
 * @example
 * ```ts
 * import { quota } from 'headgate';
 *
 * const limit = quota({ limit: 1_000_000, period: 'month', timeZone: 'Europe/Zurich', billingDay: 15 });
 * ```
 */
export function quota(options: { limit: number; period: Period; timeZone?: string; billingDay?: number }): QuotaLimit {
  rejectUnknownOptions('quota', options, ['limit', 'period', 'timeZone', 'billingDay']);
  const limit = whole('quota.limit', options.limit, largestLimit);
  const { period, timeZone = 'UTC', billingDay = 1 } = options;
  if (!periods.includes(period)) {
    throw new ConfigError('HEADGATE_BAD_OPTION', `quota.period: expected one of ${periods.join(', ')}; got ${show(period)}`);
  }
  if (typeof timeZone !== 'string' || !isTimeZone(timeZone)) {
    throw new ConfigError(
      'HEADGATE_BAD_OPTION',
      `quota.timeZone: expected an IANA time zone such as "Europe/Zurich"; got ${show(timeZone)}`,
    );
  }
  if (!Number.isInteger(billingDay) || billingDay < 1 || billingDay > 31) {
    throw new ConfigError('HEADGATE_BAD_OPTION', `quota.billingDay: expected a day from 1 to 31; got ${show(billingDay)}`);
  }
  if (period !== 'month' && options.billingDay !== undefined) {
    throw new ConfigError(
      'HEADGATE_BAD_OPTION',
      `quota.billingDay: only a period of "month" has one; got ${show(billingDay)} with period ${show(period)}`,
    );
  }
  return Object.freeze({ kind: 'quota', limit, period, timeZone, billingDay });
}

function isTimeZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return true;
  } catch {
    return false;
  }
}

/**
 * A concurrency limit: at most `limit` units held at once. A holder that crashes frees itself after `expires`; one that
 * works longer calls `extend`.
 *
 * @param options.limit - units held at once: a whole number from 0 (always refuses) to 1,000
 * @param options.expires - how long a holder lasts without `extend`: 1 ms to ten years
 * @throws ConfigError naming the option and its value
 * @example
 * ```ts
 * import { concurrency } from 'headgate';
 *
 * const limit = concurrency({ limit: 3, expires: '5m' });
 * ```
 */
export function concurrency(options: { limit: number; expires: Duration }): ConcurrencyLimit {
  rejectUnknownOptions('concurrency', options, ['limit', 'expires']);
  const limit = whole('concurrency.limit', options.limit, 1000);
  return Object.freeze({ kind: 'concurrency', limit, expiresUs: durationUs('concurrency.expires', options.expires) });
}

/** The most consecutive failures that a limit allows. */
const mostFailures = 100_000;

/**
 * Login protection: consecutive failures with growing waits, forgotten on success. NIST SP 800-63B asks for no more than 100 failed
 * attempts in a row on an account, and names waits that grow from 30 seconds to an hour.
 *
 * A check begins an attempt and counts it as failed at once, so that 50 parallel guesses cannot slip through where one may;
 * `limiter.outcome(decision, 'success')` forgets all that are counted. `free` failures cost no wait; after the next ones wait
 * `firstWait`, twice that, and so on, up to `longestWait`. A cost above 1 is so many attempts at one instant, which must all fit before
 * the first wait.
 *
 * @param options.limit - from so many failures on every attempt is refused: 1 to 100,000, 100 by default
 * @param options.free - failures that cost no wait: 0 to 100,000, 3 by default; so `free + 1` attempts may begin at one instant
 * @param options.firstWait - 1 ms to ten years, `'30s'` by default
 * @param options.longestWait - no shorter than `firstWait`, `'1h'` by default
 * @param options.forget - after so long without an attempt the count is forgotten: no shorter than `longestWait`, `'400d'` by default
 * @throws ConfigError naming the option and its value
 * @example
 * ```ts
 * import { consecutiveFailures, createLimiter } from 'headgate';
 *
 * const limiter = createLimiter({
 *   rules: { login: { limit: consecutiveFailures({ limit: 100, firstWait: '30s', longestWait: '1h' }), whenUnavailable: 'refuse' } },
 * });
 * const attempt = await limiter.check('login', 'ada@example.com');
 * if (attempt.allowed) {
 *   const isRight = true; // look at the password now
 *   await limiter.outcome(attempt, isRight ? 'success' : 'failure');
 * }
 * ```
 */
export function consecutiveFailures(
  options: { limit?: number; free?: number; firstWait?: Duration; longestWait?: Duration; forget?: Duration } = {},
): ConsecutiveFailuresLimit {
  const where = 'consecutiveFailures';
  rejectUnknownOptions(where, options, ['limit', 'free', 'firstWait', 'longestWait', 'forget']);
  const { limit = 100, free = 3, firstWait = '30s', longestWait = '1h', forget = '400d' } = options;
  const numbers = {
    limit: wholeFrom(`${where}.limit`, limit, [1, mostFailures]),
    free: whole(`${where}.free`, free, mostFailures),
    firstWaitUs: durationUs(`${where}.firstWait`, firstWait),
    longestWaitUs: durationUs(`${where}.longestWait`, longestWait),
    forgetUs: durationUs(`${where}.forget`, forget),
  };
  if (numbers.longestWaitUs < numbers.firstWaitUs) {
    throw new ConfigError(
      'HEADGATE_BAD_OPTION',
      `${where}.longestWait: shorter than firstWait, ${show(firstWait)}; got ${show(longestWait)}; make it as long at least`,
    );
  }
  // Else a wait would end with the whole count.
  if (numbers.forgetUs < numbers.longestWaitUs) {
    throw new ConfigError(
      'HEADGATE_BAD_OPTION',
      `${where}.forget: shorter than longestWait, ${show(longestWait)}; got ${show(forget)}; make it as long at least`,
    );
  }
  return Object.freeze({ kind: 'consecutiveFailures', ...numbers });
}

/**
 * No limit: always passes, without a store call. For a plan that pays for it.
 *
 * @example
 * ```ts
 * import { tokenBucket, unlimited } from 'headgate';
 *
 * const plans = { free: tokenBucket({ capacity: 20, refill: '2/s' }), enterprise: unlimited() };
 * ```
 */
export function unlimited(): UnlimitedLimit {
  return Object.freeze({ kind: 'unlimited' });
}

/** The largest number of units a limit ever has: capacity, or limit. `Infinity` for `unlimited`. */
export function sizeOf(limit: Limit): number {
  if (limit.kind === 'tokenBucket') return limit.capacity;
  return limit.kind === 'unlimited' ? Number.POSITIVE_INFINITY : limit.limit;
}

/** The largest cost that can ever pass. */
export function largestCost(limit: CountedLimit): number {
  return limit.kind === 'consecutiveFailures' ? Math.min(limit.limit, limit.free + 1) : sizeOf(limit);
}
