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
  unlimited,
} from '../src/index.js';
import { expectConfigError, wrong } from './support/wrong-input.js';

const one = (rule: unknown) => () => createLimiter({ rules: { a: wrong(rule) } });
const minute = fixedWindow({ limit: 100, window: '1m' });

describe('modes that cannot work', () => {
  it('are none of the four', async () => {
    for (const [mode, shown] of [
      ['sync', '"sync"'],
      ['', '""'],
      [null, 'null'],
      [1, '1'],
      [true, 'true'],
    ] as const) {
      await expectConfigError(
        one({ limit: minute, mode }),
        'HEADGATE_BAD_OPTION',
        'rule "a".mode',
        'expected "exact", "lease", "auto"',
        `got ${shown}`,
      );
    }
    await expectConfigError(one({ limit: minute, mode: { sync: '1s', every: 1 } }), 'HEADGATE_UNKNOWN_OPTION', '"every"');
    await expectConfigError(one({ limit: minute, mode: {} }), 'HEADGATE_BAD_DURATION', 'rule "a".mode.sync', 'undefined');
    await expectConfigError(one({ limit: minute, mode: { sync: 'often' } }), 'HEADGATE_BAD_DURATION', 'rule "a".mode.sync', '"often"');
  });

  it('count locally what only the store can count', async () => {
    for (const mode of ['lease', 'auto', { sync: '1s' }]) {
      await expectConfigError(
        one({ limit: concurrency({ limit: 3, expires: '5m' }), mode }),
        'HEADGATE_BAD_RULE',
        'rule "a".mode',
        'concurrency',
      );
      await expectConfigError(one({ limit: consecutiveFailures(), mode }), 'HEADGATE_BAD_RULE', 'only "exact" here', 'consecutiveFailures');
      await expectConfigError(one({ limit: slidingLog({ limit: 3, window: '5m' }), mode }), 'HEADGATE_BAD_RULE', 'slidingLog');
      await expectConfigError(one({ limit: minute, mode, countRefused: true }), 'HEADGATE_BAD_RULE', 'countRefused');
      const plans = { pro: slidingLog({ limit: 3, window: '5m' }) };
      await expectConfigError(one({ limit: minute, plans, mode }), 'HEADGATE_BAD_RULE', 'slidingLog');
    }
  });

  it('exchange more seldom than a twentieth of the window, or of the time to full', async () => {
    const sync = (limit: unknown, interval: string, plans = {}) => one({ limit, plans, mode: { sync: interval } });
    await expectConfigError(sync(minute, '3001ms'), 'HEADGATE_BAD_OPTION', 'rule "a".mode.sync', '3000 ms', 'got "3001ms"');
    await expectConfigError(sync(tokenBucket({ capacity: 20, refill: '1/s' }), '1001ms'), 'HEADGATE_BAD_OPTION', 'time to full', '1000 ms');
    await expectConfigError(sync(slidingWindow({ limit: 5, window: '1s' }), '51ms'), 'HEADGATE_BAD_OPTION', '50 ms');
    await expectConfigError(sync(quota({ limit: 5, period: 'hour' }), '181s'), 'HEADGATE_BAD_OPTION', '180000 ms');
    await expectConfigError(sync(minute, '1s', { pro: fixedWindow({ limit: 5, window: '10s' }) }), 'HEADGATE_BAD_OPTION', '500 ms');
    await expectConfigError(sync(minute, '9ms'), 'HEADGATE_BAD_OPTION', 'at least 10ms', 'got "9ms"');
  });

  it('are none of these', () => {
    for (const rule of [
      { limit: minute, mode: { sync: '3s' } },
      { limit: tokenBucket({ capacity: 20, refill: '1/s' }), mode: { sync: '1s' } },
      { limit: fixedWindow({ limit: 0, window: '1s' }), mode: { sync: '1s' } },
      { limit: unlimited(), mode: 'lease' },
      { limit: quota({ limit: 5, period: 'month' }), mode: 'auto' },
      { limit: minute, mode: 'exact', countRefused: true },
    ]) {
      expect(one(rule)).not.toThrow();
    }
  });
});
