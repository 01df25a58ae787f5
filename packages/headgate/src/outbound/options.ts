import { durationUs, type Duration } from '../duration.js';
import { inputError, rejectUnknownOptions, show } from '../errors.js';
import type { CheckOptions } from '../limiter-types.js';

/** The same as the global `fetch`. */
export type OutboundFetch = typeof globalThis.fetch;

/** Options of {@link Limiter.fetch}. */
export interface OutboundOptions extends CheckOptions {
  /** The longest wait for a turn that is worth it: 1 ms to 24 days; by default as long as the deadline leaves. */
  readonly maxWait?: Duration;
  /** By when a call has its answer (its head, not its body), turns and repetitions included: 1 ms to 24 days, 30 s by default. */
  readonly deadline?: Duration;
  /** For how long an answer of the partner can hold back all callers of this key, whatever it says: 1 ms to 1 day, 1 minute by default. */
  readonly maxHold?: Duration;
  /** How often a call that was answered by 429 or 503 is sent again: 0 to 10, 2 by default. */
  readonly retries?: number;
  /** What sends, the global `fetch` by default. */
  readonly fetch?: OutboundFetch;
}

/** How calls are made, read. */
export interface Calling {
  readonly maxWaitMs: number;
  readonly deadlineMs: number;
  readonly maxHoldMs: number;
  readonly retries: number;
  readonly send: OutboundFetch;
  readonly check: CheckOptions;
}

/** What a timer can hold. */
const longestWaitMs = 2_147_483_000;
const dayMs = 86_400_000;
const mostRetries = 10;

function readMs(name: string, value: Duration, mostMs: number): number {
  const ms = durationUs(`fetch.${name}`, value) / 1000;
  if (ms > mostMs) throw inputError('HEADGATE_BAD_CALL', `fetch.${name}: at most ${Math.floor(mostMs / dayMs)} days; got ${show(value)}`);
  return ms;
}

/** Reads the options of `limiter.fetch`. */
export function readOutbound(options: OutboundOptions): Calling {
  rejectUnknownOptions('fetch', options, ['cost', 'plan', 'maxWait', 'deadline', 'maxHold', 'retries', 'fetch']);
  const { maxWait, deadline = '30s', maxHold = '1m', retries = 2, fetch: given, ...check } = options;
  if (!Number.isInteger(retries) || retries < 0 || retries > mostRetries)
    throw inputError('HEADGATE_BAD_CALL', `fetch.retries: expected a whole number from 0 to ${mostRetries}; got ${show(retries)}`);
  if (given !== undefined && typeof given !== 'function')
    throw inputError('HEADGATE_BAD_CALL', `fetch.fetch: expected a function such as the global fetch; got ${show(given)}`);
  const deadlineMs = readMs('deadline', deadline, longestWaitMs);
  return {
    maxWaitMs: maxWait === undefined ? deadlineMs : readMs('maxWait', maxWait, longestWaitMs),
    deadlineMs,
    maxHoldMs: readMs('maxHold', maxHold, dayMs),
    retries,
    // Looked up anew: what replaces the global one (mocks, instrumentation) may come later.
    send: given ?? ((input, init) => fetch(input, init)),
    check,
  };
}
