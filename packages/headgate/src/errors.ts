import type { Decision } from './decision.js';

/**
 * Every code Headgate raises, with what it means. Codes are stable: match on them, not on messages.
 * `docs/errors.md` lists the same codes; a test compares the two.
 */
export const errorCodes = {
  HEADGATE_UNKNOWN_OPTION: 'an option that does not exist was given',
  HEADGATE_BAD_OPTION: 'an option has a value of the wrong type or outside its range',
  HEADGATE_BAD_DURATION: 'a duration cannot be read, or is outside its range',
  HEADGATE_BAD_RATE: 'a rate cannot be read, or is outside its range',
  HEADGATE_BAD_LIMIT: 'a limit has a number that is not whole, negative or too large',
  HEADGATE_BAD_RULE: 'a rule is not well formed',
  HEADGATE_BAD_CLIENT: 'a Redis client is of a kind Headgate cannot use',
  HEADGATE_UNKNOWN_RULE: 'a check names a rule that the limiter does not have',
  HEADGATE_BAD_KEY: 'a key is missing, empty, too long or not well-formed text',
  HEADGATE_BAD_COST: 'a cost is not a whole number of at least 1',
  HEADGATE_BAD_CALL: 'a verb was called with something it cannot work on',
  HEADGATE_CLOSED: 'the limiter was closed',
  HEADGATE_STORE: 'the store did not answer, or answered with an error',
  HEADGATE_FOREIGN_VALUE: 'a key in the store holds a value that Headgate did not write',
  HEADGATE_NO_TURN: 'an outbound call was not sent: its turn comes later than it would wait',
  HEADGATE_DEADLINE: 'an outbound call was sent and not answered by its deadline',
} as const;

/** A stable error code, `HEADGATE_…`. */
export type ErrorCode = keyof typeof errorCodes;

const shown = 80;

/** A value as an error message shows it: typed, and never longer than a line. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > shown ? `${value.slice(0, shown)}…` : value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}

/**
 * A limiter, rule, limit or store was configured with something that cannot work. Raised before any store is touched.
 *
 * @example
 * ```ts
 * import { ConfigError, tokenBucket } from 'headgate';
 *
 * try {
 *   tokenBucket({ capacity: 0.5, refill: '2/s' });
 * } catch (error) {
 *   if (error instanceof ConfigError) console.log(error.code); // HEADGATE_BAD_LIMIT
 * }
 * ```
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * The store did not answer in time or answered with an error, on a verb that has no fallback (`reset`, `ban`, `unban`).
 * Checks never throw it: they answer by the rule's `whenUnavailable`.
 */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: ErrorCode;
  constructor(message: string, options: { code?: ErrorCode; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code ?? 'HEADGATE_STORE';
  }
}

/**
 * A call of `limiter.fetch` came to no answer: `HEADGATE_NO_TURN` if it was not sent, as its turn comes later than it would wait (nothing
 * stays taken), `HEADGATE_DEADLINE` if it was sent and not answered in time.
 *
 * @example
 * ```ts
 * import { createLimiter, OutboundError, tokenBucket } from 'headgate';
 *
 * const limiter = createLimiter({ rules: { partner: { limit: tokenBucket({ capacity: 10, refill: '10/s' }) } } });
 * const call = limiter.fetch('partner', 'acme', { maxWait: '2s' });
 * await call('http://127.0.0.1:8080/orders').catch((error: unknown) => {
 *   if (error instanceof OutboundError) console.log(error.code, error.decision.retryAfterMs);
 * });
 * ```
 */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly code: ErrorCode;
  /** The last decision made for this call: of a call that was not sent, the refusal. */
  readonly decision: Decision;
  constructor(code: 'HEADGATE_NO_TURN' | 'HEADGATE_DEADLINE', message: string, decision: Decision) {
    super(message);
    this.code = code;
    this.decision = decision;
  }
}

/** A `TypeError` with a code: a call's argument is wrong. */
export interface InputError extends TypeError {
  readonly code: ErrorCode;
}

/** A TypeError with a code; the message names the value and the mend. */
export function inputError(code: ErrorCode, message: string): InputError {
  return Object.assign(new TypeError(message), { code });
}

/** Throws a ConfigError that names the first option in `given` that is not in `known`. */
export function rejectUnknownOptions(where: string, given: unknown, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new ConfigError('HEADGATE_BAD_OPTION', `${where}: expected an object with ${known.join(', ')}; got ${show(given)}`);
  }
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const near = known.find((k) => k.toLowerCase() === name.toLowerCase() || name.toLowerCase().startsWith(k.toLowerCase()));
    const mend = near ? `did you mean ${show(near)}?` : `known options: ${known.join(', ')}`;
    throw new ConfigError('HEADGATE_UNKNOWN_OPTION', `${where}: unknown option ${show(name)}; ${mend}`);
  }
}
