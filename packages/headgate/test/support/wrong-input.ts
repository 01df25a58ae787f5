import { afterEach, expect } from 'vitest';
import { ConfigError, errorCodes, type ErrorCode } from '../../src/errors.js';
import { concurrency, createLimiter, fixedWindow, tokenBucket, unlimited } from '../../src/index.js';
import { countingStore } from './counting-store.js';

/** What a wrong call throws, whether at once or by rejecting; its code is one of those there are. */
export async function thrownBy(call: () => unknown): Promise<Error & { code: ErrorCode }> {
  let outcome: unknown;
  try {
    outcome = await call();
  } catch (error) {
    if (!(error instanceof Error)) throw new Error(`threw no Error but ${String(error)}`, { cause: error });
    const { code } = error as Error & { code: ErrorCode };
    expect(Object.keys(errorCodes)).toContain(code);
    return error as Error & { code: ErrorCode };
  }
  throw new Error(`nothing was thrown; it answered ${JSON.stringify(outcome)}`);
}

export async function expectConfigError(call: () => unknown, code: ErrorCode, ...parts: (string | RegExp)[]): Promise<void> {
  const error = await thrownBy(call);
  expect(error).toBeInstanceOf(ConfigError);
  expect(error.code).toBe(code);
  for (const part of parts) expect(error.message).toMatch(part);
}

export async function expectTypeError(call: () => unknown, code: ErrorCode, ...parts: (string | RegExp)[]): Promise<void> {
  const error = await thrownBy(call);
  expect(error).toBeInstanceOf(TypeError);
  expect(error.code).toBe(code);
  for (const part of parts) expect(error.message).toMatch(part);
}

/** For calls that the types forbid. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export const wrong = (value: unknown): any => value;

/** A limiter with a rule of each kind that verbs tell apart, over a store that forgets after each test what it was asked. */
export function limiterToMisuse() {
  const store = countingStore();
  const limiter = createLimiter({
    store,
    deadline: '2s',
    rules: {
      bucket: { limit: tokenBucket({ capacity: 20, refill: '2/s' }), plans: { pro: tokenBucket({ capacity: 200, refill: '20/s' }) } },
      window: { limit: fixedWindow({ limit: 5, window: '1h' }) },
      held: { limit: concurrency({ limit: 3, expires: '1m' }) },
      free: { limit: unlimited() },
    },
  });
  afterEach(() => {
    store.calls.length = 0;
  });
  return { store, limiter };
}
