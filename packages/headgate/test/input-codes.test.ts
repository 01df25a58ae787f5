import { describe, expect, it } from 'vitest';
import { errorCodes, StoreError, type ErrorCode } from '../src/errors.js';
import { createLimiter, fixedWindow, memoryStore, tokenBucket } from '../src/index.js';
import { layersOver } from '../src/layers/index.js';
import { redisStore } from '../src/redis.js';
import { limiterToMisuse, thrownBy, wrong } from './support/wrong-input.js';

const limit = tokenBucket({ capacity: 1, refill: '1/s' });
const { limiter } = limiterToMisuse();
const failing = createLimiter({
  store: {
    ...memoryStore(),
    local: wrong(undefined),
    layers: layersOver,
    ban: () => Promise.reject(new StoreError('no')),
    reset: () => Promise.reject(new StoreError('no', { code: 'HEADGATE_FOREIGN_VALUE' })),
  },
  rules: { a: { limit } },
});

/** For each code a call that raises it. */
const calls: Record<ErrorCode, () => unknown> = {
  HEADGATE_UNKNOWN_OPTION: () => tokenBucket(wrong({ capacity: 1, refillRate: '1/s' })),
  HEADGATE_BAD_OPTION: () => createLimiter({ rules: { a: { limit, shadow: wrong(1) } } }),
  HEADGATE_BAD_DURATION: () => fixedWindow({ limit: 1, window: '0s' }),
  HEADGATE_BAD_RATE: () => tokenBucket({ capacity: 1, refill: '0/s' }),
  HEADGATE_BAD_LIMIT: () => tokenBucket({ capacity: 0.5, refill: '1/s' }),
  HEADGATE_BAD_RULE: () => createLimiter({ rules: { '': { limit } } }),
  HEADGATE_BAD_CLIENT: () => redisStore({ client: undefined }),
  HEADGATE_UNKNOWN_RULE: () => limiter.check(wrong('nope'), 'key'),
  HEADGATE_BAD_KEY: () => limiter.check('bucket', ''),
  HEADGATE_BAD_COST: () => limiter.check('bucket', 'key', { cost: 0 }),
  HEADGATE_BAD_CALL: () => limiter.checkAll([]),
  HEADGATE_CLOSED: async () => {
    const closed = createLimiter({ rules: { a: { limit } } });
    await closed.close();
    await closed.check('a', 'key');
  },
  HEADGATE_STORE: () => failing.ban('a', 'key', '1s'),
  HEADGATE_FOREIGN_VALUE: () => failing.reset('a', 'key'),
  HEADGATE_NO_TURN: () => createLimiter({ rules: { a: { limit } } }).fetch('a', 'key', { cost: 2 })('http://127.0.0.1:9/'),
  HEADGATE_DEADLINE: () =>
    createLimiter({ rules: { a: { limit } } }).fetch('a', 'key', { deadline: '500ms', fetch: silent })('http://127.0.0.1:9/'),
};

/** Answers only when it is aborted. */
const silent: typeof fetch = (_, init) =>
  new Promise((_answer, reject) => {
    const abort = (): void => reject(new Error('aborted'));
    if (init?.signal?.aborted) abort();
    init?.signal?.addEventListener('abort', abort);
  });

describe('error codes', () => {
  it('a store that answers with an error, or holds what Headgate did not write, has a code of its own', async () => {
    expect(await thrownBy(calls.HEADGATE_STORE)).toMatchObject({ name: 'StoreError', code: 'HEADGATE_STORE' });
    expect(await thrownBy(calls.HEADGATE_FOREIGN_VALUE)).toMatchObject({ name: 'StoreError', code: 'HEADGATE_FOREIGN_VALUE' });
  });

  it('every code there is was raised above, and no other', async () => {
    for (const [code, call] of Object.entries(calls)) expect(await thrownBy(call), code).toMatchObject({ code });
    expect(Object.keys(calls).sort()).toEqual(Object.keys(errorCodes).sort());
  });
});
