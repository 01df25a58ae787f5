import { describe, expect, it } from 'vitest';
import { monitor } from '../../../test/support/monitor.js';
import { tokenBucket } from '../src/index.js';
import type { Check, GroupOutcome } from '../src/index.js';
import { decodeBuckets } from '../src/stores/redis/buckets.js';
import { storeInRedis } from './support/store-in-redis.js';

const redis = storeInRedis();

/** All in one turn, so that they travel in one call. */
function together(rule: string, keys: readonly string[], of: Pick<Check, 'limit' | 'cost'>): Promise<PromiseSettledResult<GroupOutcome>[]> {
  return Promise.allSettled(keys.map((key) => redis.store.decide({ checks: [{ rule, key, ...of }] })));
}

describe('a batch of plain checks of one bucket', () => {
  const bucket = { limit: tokenBucket({ capacity: 10, refill: '1/h' }), cost: 4 };

  it('is one call, also where some pass, some are refused, one is banned, one holds a foreign value and one is new', async () => {
    await together('rule', ['low', 'low', 'full'], bucket);
    await redis.store.ban({ rule: 'rule', key: 'banned', kinds: ['tokenBucket'] }, 60_000_000);
    await redis.client.set('hg:2{foreign}b:rule', 'somebody else’s', 'EX', 100);
    const watch = await monitor(redis.server.port);
    const answers = await together('rule', ['full', 'banned', 'low', 'foreign', 'new'], bucket);
    // One call for all, and one for what only the general script can tell.
    expect(await watch.count('EVALSHA')).toBe(2);
    watch.stop();
    expect(answers).toMatchObject([
      { value: { allowed: true, outcomes: [{ taken: 4, remaining: 2 }] } },
      { value: { allowed: false, outcomes: [{ reason: 'banned' }] } },
      { value: { allowed: false, outcomes: [{ reason: 'limited', remaining: 2 }] } },
      { reason: { code: 'HEADGATE_FOREIGN_VALUE' } },
      { value: { allowed: true, outcomes: [{ taken: 4, remaining: 6 }] } },
    ]);
  });

  it('tells numbers of sixteen digits', async () => {
    const largest = { limit: tokenBucket({ capacity: 9e9, refill: '30/s' }), cost: 8_999_999_000 };
    await together('large', ['a', 'b'], largest);
    // Above 2^52 millionths; a few units flow back meanwhile.
    for (const answer of await together('large', ['a', 'b'], { ...largest, cost: 999 })) {
      if (answer.status === 'rejected') throw answer.reason;
      const [outcome] = answer.value.outcomes;
      expect(outcome).toMatchObject({ allowed: true, taken: 999 });
      expect(outcome?.remaining).toBeLessThan(900);
    }
    for (const answer of await together('large', ['a', 'b'], { ...largest, cost: 1000 }))
      expect(answer).toMatchObject({ value: { allowed: false, outcomes: [{ taken: 0, reason: 'limited' }] } });
  });

  it('whose reply ends too soon is an error, never a pass', () => {
    const groups = ['a', 'b'].map((key) => ({ checks: [{ rule: 'rule', key, ...bucket }] }));
    expect(() => decodeBuckets('1700000000000000 4000000 ', groups)).toThrow('fewer checks than were asked');
    expect(decodeBuckets('1700000000000000 4000000 -8000001 ', groups).verdicts).toMatchObject([{ allowed: true }, { allowed: false }]);
  });
});
