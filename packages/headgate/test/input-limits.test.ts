import { describe, expect, it } from 'vitest';
import {
  concurrency,
  consecutiveFailures,
  createLimiter,
  fixedWindow,
  quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../src/index.js';
import { expectConfigError, limiterToMisuse, wrong } from './support/wrong-input.js';

const { store, limiter } = limiterToMisuse();

describe('limits with numbers that cannot work', () => {
  const badLimits: [shown: string, limit: unknown][] = [
    ['NaN', Number.NaN],
    ['0.5', 0.5],
    ['undefined', undefined],
    ['-1', -1],
    ['null', null],
    ['"5"', '5'],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['10000000000000000000', 1e19],
    ['9000000001', 9_000_000_001],
  ];
  it.each(badLimits)('%s is a ConfigError in every maker', async (shown, value) => {
    const limit = wrong(value);
    const makers: [string, () => unknown][] = [
      ['tokenBucket.capacity', () => tokenBucket({ capacity: limit, refill: '1/s' })],
      ['fixedWindow.limit', () => fixedWindow({ limit, window: '1m' })],
      ['slidingWindow.limit', () => slidingWindow({ limit, window: '1m' })],
      ['slidingLog.limit', () => slidingLog({ limit, window: '1m' })],
      ['quota.limit', () => quota({ limit, period: 'day' })],
      ['concurrency.limit', () => concurrency({ limit, expires: '1m' })],
    ];
    for (const [where, make] of makers)
      await expectConfigError(make, 'HEADGATE_BAD_LIMIT', where, `got ${shown}`, 'whole number from 0 to');
  });

  it('a log and a concurrency limit hold at most 1,000', async () => {
    await expectConfigError(
      () => slidingLog({ limit: 1001, window: '1m' }),
      'HEADGATE_BAD_LIMIT',
      'slidingLog.limit',
      'from 0 to 1000; got 1001',
    );
    await expectConfigError(
      () => concurrency({ limit: 1001, expires: '1m' }),
      'HEADGATE_BAD_LIMIT',
      'concurrency.limit',
      'from 0 to 1000; got 1001',
    );
    expect(slidingLog({ limit: 1000, window: '1m' }).limit).toBe(1000);
    expect(concurrency({ limit: 1000, expires: '1m' }).limit).toBe(1000);
  });

  it('a bucket holds at most 9e9 units, and takes at most ten years to fill', async () => {
    await expectConfigError(() => tokenBucket({ capacity: 9e9 + 1, refill: '1000/s' }), 'HEADGATE_BAD_LIMIT', 'got 9000000001');
    await expectConfigError(
      () => tokenBucket({ capacity: 1000, refill: '1/30d' }),
      'HEADGATE_BAD_LIMIT',
      'over ten years',
      'lower the capacity or raise the refill',
    );
    await expectConfigError(() => tokenBucket({ capacity: 3653, refill: '1/d' }), 'HEADGATE_BAD_LIMIT', 'capacity 3653 at refill "1/d"');
    expect(tokenBucket({ capacity: 3652, refill: '1/d' }).capacity).toBe(3652);
    expect(tokenBucket({ capacity: 9e9, refill: '9000000000/s' }).capacity).toBe(9e9);
    expect(fixedWindow({ limit: 9e9, window: '1m' }).limit).toBe(9e9);
  });

  it('consecutive failures count to 100,000, from 1 on, and all of it may be left out', async () => {
    expect(consecutiveFailures()).toEqual({
      kind: 'consecutiveFailures',
      limit: 100,
      free: 3,
      firstWaitUs: 30_000_000,
      longestWaitUs: 3_600_000_000,
      forgetUs: 34_560_000_000_000,
    });
    for (const [shown, value] of [...badLimits, ['100001', 100_001] as const, ['0', 0] as const]) {
      if (value === undefined) continue;
      const make = () => consecutiveFailures({ limit: wrong(value) });
      await expectConfigError(make, 'HEADGATE_BAD_LIMIT', 'consecutiveFailures.limit', `got ${shown}`, 'whole number from 1 to 100000');
    }
    for (const [shown, value] of badLimits) {
      if (value === undefined) continue;
      const make = () => consecutiveFailures({ free: wrong(value) });
      await expectConfigError(make, 'HEADGATE_BAD_LIMIT', 'consecutiveFailures.free', `got ${shown}`, 'whole number from 0 to 100000');
    }
    expect(consecutiveFailures({ limit: 1, free: 100_000 })).toMatchObject({ limit: 1, free: 100_000 });
  });

  it('the waits of consecutive failures grow, and end before they are forgotten', async () => {
    const firstWait = '2h';
    await expectConfigError(
      () => consecutiveFailures({ firstWait }),
      'HEADGATE_BAD_OPTION',
      'consecutiveFailures.longestWait: shorter than firstWait, "2h"; got "1h"',
    );
    await expectConfigError(
      () => consecutiveFailures({ forget: 3_599_999 }),
      'HEADGATE_BAD_OPTION',
      'consecutiveFailures.forget: shorter than longestWait, "1h"; got 3599999',
    );
    expect(consecutiveFailures({ firstWait, longestWait: '2h', forget: '2h' })).toMatchObject({ forgetUs: 7_200_000_000 });
  });

  const badDurations: [shown: string, duration: unknown, why: string][] = [
    ['0', 0, 'shorter than 1 ms'],
    ['-5', -5, 'shorter than 1 ms'],
    ['0.5', 0.5, 'not a whole number of milliseconds'],
    ['NaN', Number.NaN, 'not a whole number of milliseconds'],
    ['Infinity', Number.POSITIVE_INFINITY, 'not a whole number of milliseconds'],
    ['10000000000000000000', 1e19, 'longer than ten years'],
    ['"3654d"', '3654d', 'longer than ten years'],
    ['"0s"', '0s', 'shorter than 1 ms'],
    ['"1.5ms"', '1.5ms', 'not a whole number of milliseconds'],
    ['"1 m"', '1 m', 'not a duration'],
    ['"1M"', '1M', 'not a duration'],
    ['"-1s"', '-1s', 'not a duration'],
    ['"1month"', '1month', 'not a duration'],
    ['""', '', 'not a duration'],
    ['undefined', undefined, 'not a duration'],
    ['null', null, 'not a duration'],
    ['an object', {}, 'not a duration'],
  ];
  it.each(badDurations)('a window of %s is a ConfigError wherever a duration is read', async (shown, value, why) => {
    const window = wrong(value);
    const makers: [string, () => unknown][] = [
      ['fixedWindow.window', () => fixedWindow({ limit: 1, window })],
      ['slidingWindow.window', () => slidingWindow({ limit: 1, window })],
      ['slidingLog.window', () => slidingLog({ limit: 1, window })],
      ['concurrency.expires', () => concurrency({ limit: 1, expires: window })],
      ['acquire.maxWait', () => limiter.acquire('bucket', 'key', { maxWait: window })],
      ['ban', () => limiter.ban('bucket', 'key', window)],
    ];
    for (const name of ['firstWait', 'longestWait', 'forget'])
      if (value !== undefined) makers.push([`consecutiveFailures.${name}`, () => consecutiveFailures({ [name]: window })]);
    if (value !== undefined) makers.push(['createLimiter.deadline', () => createLimiter({ rules: {}, deadline: window })]);
    for (const [where, make] of makers) await expectConfigError(make, 'HEADGATE_BAD_DURATION', where, why, `got ${shown}`, 'such as "10s"');
    expect(store.calls).toEqual([]);
  });

  const badRates: [shown: string, rate: unknown, why: string][] = [
    ['undefined', undefined, 'not a rate'],
    ['5', 5, 'not a rate'],
    ['"0/s"', '0/s', 'refills nothing'],
    ['"-1/s"', '-1/s', 'not a rate'],
    ['"0.5/s"', '0.5/s', 'not a rate of whole units'],
    ['"1/month"', '1/month', 'not a rate'],
    ['"9000000001/s"', '9000000001/s', 'more than 9e9'],
    ['"NaN/s"', 'NaN/s', 'not a rate'],
    ['"2"', '2', 'not a rate'],
  ];
  it.each(badRates)('a refill of %s is a ConfigError', async (shown, refill, why) => {
    await expectConfigError(
      () => tokenBucket({ capacity: 1, refill: wrong(refill) }),
      'HEADGATE_BAD_RATE',
      'tokenBucket.refill',
      why,
      `got ${shown}`,
      'such as "2/s"',
    );
  });

  it('a refill over no time at all is a ConfigError', async () => {
    await expectConfigError(
      () => tokenBucket({ capacity: 1, refill: '1/0s' }),
      'HEADGATE_BAD_DURATION',
      'tokenBucket.refill',
      'shorter than 1 ms',
    );
  });

  it('a quota names its period, zone and billing day where they are wrong', async () => {
    const limit = 1;
    await expectConfigError(
      () => quota({ limit, period: wrong('fortnight') }),
      'HEADGATE_BAD_OPTION',
      'quota.period',
      'hour, day, week, month, year',
      'got "fortnight"',
    );
    await expectConfigError(() => quota({ limit, period: wrong('constructor') }), 'HEADGATE_BAD_OPTION', 'got "constructor"');
    await expectConfigError(
      () => quota({ limit, period: 'day', timeZone: 'Mars/Olympus' }),
      'HEADGATE_BAD_OPTION',
      'quota.timeZone',
      'got "Mars/Olympus"',
    );
    await expectConfigError(() => quota({ limit, period: 'month', billingDay: 32 }), 'HEADGATE_BAD_OPTION', 'quota.billingDay', 'got 32');
    await expectConfigError(() => quota({ limit, period: 'day', billingDay: 3 }), 'HEADGATE_BAD_OPTION', 'only a period of "month"');
  });

  it('a window begins at the epoch or with the first request', async () => {
    await expectConfigError(
      () => fixedWindow({ limit: 1, window: '1m', from: wrong('now') }),
      'HEADGATE_BAD_OPTION',
      'fixedWindow.from',
      'got "now"',
    );
  });
});
