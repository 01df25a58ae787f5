import { describe, expect, it } from 'vitest';
import { createLimiter, tokenBucket } from '../src/index.js';
import { expectTypeError, limiterToMisuse, wrong } from './support/wrong-input.js';

const { store, limiter } = limiterToMisuse();

describe('verbs called with something they cannot work on', () => {
  it('a group of none, of more than 64, or of something else', async () => {
    for (const [checks, shown] of [
      [[], 'an array of 0'],
      [Array.from({ length: 65 }, () => ({ rule: 'bucket', key: 'k' })), 'an array of 65'],
      [undefined, 'undefined'],
      [{}, 'an object'],
    ] as const) {
      await expectTypeError(() => limiter.checkAll(wrong(checks)), 'HEADGATE_BAD_CALL', '1 to 64 checks', `got ${shown}`);
    }
    await expectTypeError(() => limiter.checkAll([wrong(5)]), 'HEADGATE_BAD_CALL', 'expected { rule, key, cost?, plan? }', 'got 5');
    expect(store.calls).toEqual([]);
  });

  it('something that is no decision of this limiter', async () => {
    const copy = { ...(await limiter.check('window', 'copied')) };
    store.calls.length = 0;
    for (const taken of [undefined, null, 5, 'a', {}, [], copy]) {
      const verbs = [limiter.refund, limiter.release, limiter.extend, limiter.receipt, (it: never) => limiter.settle(it, 0)];
      for (const verb of verbs)
        await expectTypeError(() => verb(wrong(taken) as never), 'HEADGATE_BAD_CALL', 'expected a decision of this limiter, not a copy');
    }
    expect(store.calls).toEqual([]);
  });

  it('a verb that the rule has no use for, and what was taken can still be given back', async () => {
    const held = await limiter.check('held', 'key');
    const taken = await limiter.check('window', 'misused', { cost: 2 });
    store.calls.length = 0;
    await expectTypeError(() => limiter.reserve('held', 'key'), 'HEADGATE_BAD_CALL', 'limits concurrency', 'release()');
    await expectTypeError(() => limiter.settle(held, 0), 'HEADGATE_BAD_CALL', 'limits concurrency', 'release()');
    await expectTypeError(() => limiter.extend(taken), 'HEADGATE_BAD_CALL', 'does not limit concurrency');
    await expectTypeError(() => limiter.release(taken), 'HEADGATE_BAD_CALL', 'does not limit concurrency', 'refund()');
    for (const verb of [limiter.reset, limiter.unban]) await expectTypeError(() => verb('free', 'key'), 'HEADGATE_BAD_CALL', 'unlimited');
    await expectTypeError(() => limiter.ban('free', 'key', '1m'), 'HEADGATE_BAD_CALL', 'unlimited');
    expect(store.calls).toEqual([]);
    expect(await limiter.release(held)).toBe(true);
    expect(await limiter.refund(taken)).toBe(2);
  });

  it('a wait that no timer holds, and a signal that is none', async () => {
    await expectTypeError(() => limiter.acquire('bucket', 'key', { maxWait: '25d' }), 'HEADGATE_BAD_CALL', 'at most 24 days', 'got "25d"');
    await expectTypeError(
      () => limiter.acquire('bucket', 'key', { maxWait: '1s', signal: wrong({ aborted: true }) }),
      'HEADGATE_BAD_CALL',
      'AbortSignal',
      'got an object',
    );
    expect(store.calls).toEqual([]);
  });

  it('any verb after the limiter was closed', async () => {
    const closed = createLimiter({ rules: { a: { limit: tokenBucket({ capacity: 1, refill: '1/s' }) } } });
    await closed.close();
    for (const call of [
      () => closed.check('a', 'key'),
      () => closed.checkAll([{ rule: 'a', key: 'key' }]),
      () => closed.peek('a', 'key'),
      () => closed.reserve('a', 'key'),
      () => closed.acquire('a', 'key', { maxWait: '1s' }),
      () => closed.reset('a', 'key'),
      () => closed.ban('a', 'key', '1s'),
      () => closed.unban('a', 'key'),
      () => closed.ready(),
    ]) {
      await expectTypeError(call, 'HEADGATE_CLOSED', 'closed');
    }
  });
});
