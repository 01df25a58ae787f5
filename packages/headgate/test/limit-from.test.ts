import { describe, expect, it } from 'vitest';
import { fixedWindow, limitFrom, tokenBucket, unlimited } from '../src/index.js';
import { expectConfigError, wrong } from './support/wrong-input.js';

describe('a limit from plain data', () => {
  it('is the one that its own function makes', () => {
    expect(limitFrom({ tokenBucket: { capacity: 20, refill: '2/s' } })).toEqual(tokenBucket({ capacity: 20, refill: '2/s' }));
    expect(limitFrom({ tokenBucket: undefined, fixedWindow: { limit: 5, window: '1m' } })).toEqual(fixedWindow({ limit: 5, window: '1m' }));
    expect(limitFrom({ unlimited: {} })).toEqual(unlimited());
  });

  it('that does not exist, or is two, is an error that names those there are', async () => {
    for (const entry of [{}, { leakyBucket: {} }, { constructor: {} }, { unlimited: {}, fixedWindow: { limit: 5, window: '1m' } }])
      await expectConfigError(() => limitFrom(wrong(entry)), 'HEADGATE_BAD_LIMIT', 'one of tokenBucket, fixedWindow');
    await expectConfigError(() => limitFrom({ fixedWindow: { limit: -1, window: '1m' } }), 'HEADGATE_BAD_LIMIT', '-1');
  });
});
