import { describe, expect, it } from 'vitest';
import { expectTypeError, limiterToMisuse, thrownBy, wrong } from './support/wrong-input.js';

const { store, limiter } = limiterToMisuse();

const badCosts: [shown: string, cost: unknown][] = [
  ['NaN', Number.NaN],
  ['0.5', 0.5],
  ['-1', -1],
  ['0', 0],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['"3"', '3'],
  ['10000000000000000000', 1e19],
  ['9000000001', 9_000_000_001],
  ['null', null],
  ['true', true],
  ['3n', 3n],
  ['an array of 1', [3]],
];

describe('a cost that is no whole number of at least 1', () => {
  it.each(badCosts)('%s is a TypeError in every verb that takes a cost, and no store is asked', async (shown, cost) => {
    const options = wrong({ cost });
    const calls = [
      () => limiter.check('bucket', 'key', options),
      () =>
        limiter.checkAll([
          { rule: 'window', key: 'key' },
          { rule: 'bucket', key: 'key', ...options },
        ]),
      () => limiter.peek('bucket', 'key', options),
      () => limiter.reserve('bucket', 'key', options),
      () => limiter.acquire('bucket', 'key', { maxWait: '1s', ...options }),
      () => limiter.check('free', 'key', options),
    ];
    for (const call of calls) await expectTypeError(call, 'HEADGATE_BAD_COST', `got ${shown}`, 'whole number from 1 to 9000000000');
    expect(store.calls).toEqual([]);
    expect(limiter.stats()).toMatchObject({ degraded: 0 });
  });

  it.each(badCosts.filter(([shown]) => shown !== '0'))(
    '%s does not settle a reservation, which can be settled afterwards',
    async (shown, actual) => {
      const reservation = await limiter.reserve('window', `settle ${shown}`, { cost: 3 });
      store.calls.length = 0;
      await expectTypeError(() => reservation.settle(wrong(actual)), 'HEADGATE_BAD_COST', `got ${shown}`, 'whole number from 0');
      await expectTypeError(() => limiter.settle(reservation.decision, wrong(actual)), 'HEADGATE_BAD_COST', `got ${shown}`);
      expect(store.calls).toEqual([]);
      expect(await reservation.settle(1)).toEqual({ returned: 2, charged: 0 });
    },
  );
});

const missingKeys: [shown: string, key: unknown][] = [
  ['""', ''],
  ['undefined', undefined],
  ['null', null],
  ['5', 5],
  ['NaN', Number.NaN],
  ['an object', {}],
  ['an array of 1', ['key']],
];

describe('a key that is missing or no text', () => {
  it.each(missingKeys)('%s is a TypeError in every verb, never one budget for everybody', async (shown, missing) => {
    const key = wrong(missing);
    const calls = [
      () => limiter.check('bucket', key),
      () =>
        limiter.checkAll([
          { rule: 'window', key: 'key' },
          { rule: 'bucket', key },
        ]),
      () => limiter.peek('bucket', key),
      () => limiter.reserve('bucket', key),
      () => limiter.acquire('bucket', key, { maxWait: '1s' }),
      () => limiter.reset('bucket', key),
      () => limiter.ban('bucket', key, '1m'),
      () => limiter.unban('bucket', key),
      () => limiter.check('free', key),
    ];
    for (const call of calls) await expectTypeError(call, 'HEADGATE_BAD_KEY', `got ${shown}`, 'non-empty text', 'name a key of its own');
    expect(store.calls).toEqual([]);
  });

  it('a lone surrogate is a TypeError, as two such keys would meet in Redis', async () => {
    for (const key of ['\ud800', 'a\udfffb', '\udc00\ud800']) {
      await expectTypeError(() => limiter.check('bucket', key), 'HEADGATE_BAD_KEY', 'lone surrogate');
    }
    expect(store.calls).toEqual([]);
    expect((await limiter.check('bucket', 'a \u{1f600} pair is text')).allowed).toBe(true);
  });

  it('a key of over 65,536 characters is a TypeError that says so and does not repeat the key', async () => {
    const error = await thrownBy(() => limiter.check('bucket', 'x'.repeat(65_537)));
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({ code: 'HEADGATE_BAD_KEY' });
    expect(error.message).toMatch(/65537 characters.*at most 65536/);
    expect(error.message.length).toBeLessThan(200);
    expect(store.calls).toEqual([]);
  });
});
