import { describe, expect, it } from 'vitest';
import { fixedWindow, tokenBucket } from '../src/index.js';
import type { Check } from '../src/index.js';
import { unpackPair } from './support/states.js';
import { storeInRedis } from './support/store-in-redis.js';

const redis = storeInRedis();

describe('a packed state', () => {
  const bucket = tokenBucket({ capacity: 3_000_000, refill: '1/m' });
  const large = fixedWindow({ limit: 9e9, window: '1h', from: 'first-request' });
  const checks = (key: string): Check[] => [
    { rule: 'bucket', key, limit: bucket, cost: 1_099_511 },
    { rule: 'window', key, limit: large, cost: 4e9 },
  ];

  it.each([
    ['one by one', (key: string) => checks(key).map((check) => [check])],
    ['together', (key: string) => [checks(key)]],
    ['by the general script', (key: string) => [checks(key).map((check) => ({ ...check, shadow: true }))]],
  ] as const)('of a bucket too large for 12 bytes takes 14, and is read again: %s', async (_, groupsOf) => {
    for (const times of [1, 2]) {
      await Promise.all(groupsOf('key').map((group) => redis.store.decide({ checks: group })));
      const states = await redis.client.mgetBuffer('hg:2{key}b:bucket', 'hg:2{key}w:window');
      expect(states.map((state) => state?.length)).toEqual([times === 1 ? (expect.toBeOneOf([12, 14]) as number) : 14, 12]);
      const [used, count] = states.map((state) => unpackPair(state).number);
      // What has flowed back meanwhile is far below a unit.
      expect(used).toBeCloseTo(1_099_511_000_000 * times, -6);
      expect(count).toBe(4e9 * times);
    }
  });

  it.each(['hello, world', 'hello, worlds!', '0000000:1000', '!17000000000', ' '.repeat(12)])(
    'is never read out of text of its length: %j',
    async (text) => {
      await redis.client.set('hg:2{key}b:bucket', text);
      await redis.client.set('hg:2{key}w:window', text);
      const [one, other] = checks('key');
      if (!one || !other) throw new Error('no checks');
      for (const group of [[one], [other], [one, other]]) {
        await expect(redis.store.decide({ checks: group })).rejects.toMatchObject({ code: 'HEADGATE_FOREIGN_VALUE' });
      }
      expect(await redis.client.mget('hg:2{key}b:bucket', 'hg:2{key}w:window')).toEqual([text, text]);
    },
  );
});
