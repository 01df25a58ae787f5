import { describe, expect, it } from 'vitest';
import { createLimiter, fixedWindow, memoryStore, quota, StoreError, unlimited, type Limiter, type Store } from '../src/index.js';
import { fakeClock } from '../src/testing/index.js';
import { countingStore } from './support/counting-store.js';
import { limitersInRedis } from './support/limiters-in-redis.js';
import { expectTypeError, wrong } from './support/wrong-input.js';

const monthly = quota({ limit: 100, period: 'month' });
const rules = {
  monthly: { limit: monthly, plans: { big: quota({ limit: 1000, period: 'month' }), free: unlimited() } },
  minute: { limit: fixedWindow({ limit: 100, window: '1m' }) },
  leased: { limit: quota({ limit: 1000, period: 'month' }), mode: 'lease' as const },
};
type Rule = keyof typeof rules;

const redis = limitersInRedis();
const stores: readonly (readonly [string, () => Limiter<Rule>])[] = [
  ['the memory store', () => createLimiter({ store: memoryStore({ clock: fakeClock() }), rules })],
  ['Redis', () => redis.limiterOf(rules)],
];

/** As a plan sees it that has more room than is used. */
const used = async (limiter: Limiter<Rule>, key: string): Promise<number> =>
  1000 - (await limiter.peek('monthly', key, { plan: 'big' })).remaining;

describe.each(stores)('in %s, what is used of a quota', (_, make) => {
  it('is set: lower, higher, above the limit, and to nothing; twice is the same', async () => {
    const limiter = make();
    await limiter.check('monthly', 'alice', { cost: 30 });
    for (const to of [10, 10, 60, 250, 250, 90, 0, 0, 1]) {
      await limiter.setUsed('monthly', 'alice', { used: to });
      expect(await used(limiter, 'alice')).toBe(to);
    }
    expect((await limiter.peek('monthly', 'alice')).remaining).toBe(99);
  });

  it('is set under a plan, and of a key that was never seen', async () => {
    const limiter = make();
    await limiter.setUsed('monthly', 'bob', { used: 400, plan: 'big' });
    expect((await limiter.peek('monthly', 'bob')).allowed).toBe(false);
    expect((await limiter.peek('monthly', 'bob', { plan: 'big' })).remaining).toBe(600);
  });

  it('is told at once to who was refused before', async () => {
    const limiter = make();
    await limiter.check('monthly', 'carol', { cost: 100 });
    expect((await limiter.check('monthly', 'carol')).allowed).toBe(false);
    await limiter.setUsed('monthly', 'carol', { used: 99 });
    expect(await limiter.check('monthly', 'carol')).toMatchObject({ allowed: true, remaining: 0 });
  });

  it('lets no check pass meanwhile that neither the old nor the new value would let pass', async () => {
    const limiter = make();
    await limiter.setUsed('monthly', 'dave', { used: 500 });
    let isSet = false;
    let passed = 0;
    const checking = async (): Promise<void> => {
      while (!isSet) {
        if ((await limiter.check('monthly', 'dave', { cost: 5 })).allowed) passed += 1;
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const checks = Promise.all([checking(), checking(), checking()]);
    for (let i = 0; i < 40; i += 1) {
      await Promise.all([
        limiter.setUsed('monthly', 'dave', { used: 98 }),
        limiter.setUsed('monthly', 'dave', { used: 500 }),
        limiter.setUsed('monthly', 'dave', { used: 97 }),
      ]);
    }
    isSet = true;
    await checks;
    expect(passed).toBe(0);
  });

  it('counts what this process has leased and not used as unused', async () => {
    const limiter = make();
    await Promise.all(Array.from({ length: 40 }, () => limiter.check('leased', 'erin')));
    await limiter.setUsed('leased', 'erin', { used: 60 });
    expect((await limiter.peek('leased', 'erin')).remaining).toBe(940);
  });
});

describe('setUsed', () => {
  it('refuses what is no quota, and what is no number of units, before any store is touched', async () => {
    const store = countingStore();
    const limiter = createLimiter({ store, rules });
    await expectTypeError(() => limiter.setUsed('minute', 'key', { used: 1 }), 'HEADGATE_BAD_CALL', 'is no quota', 'fixedWindow');
    await expectTypeError(
      () => limiter.setUsed('monthly', 'key', { used: 1, plan: 'free' }),
      'HEADGATE_BAD_CALL',
      'is no quota',
      'unlimited',
    );
    for (const value of [-1, 1.5, 9_000_000_001, Number.NaN, wrong('5')])
      await expectTypeError(() => limiter.setUsed('monthly', 'key', { used: value }), 'HEADGATE_BAD_COST', 'from 0 to 9000000000');
    for (const options of [undefined, 5, []])
      await expectTypeError(() => limiter.setUsed('monthly', 'key', wrong(options)), 'HEADGATE_BAD_CALL', 'setUsed: options are an object');
    await expectTypeError(() => limiter.setUsed('monthly', 'key', wrong({ used: 1, cost: 2 })), 'HEADGATE_UNKNOWN_OPTION', '"cost"');
    expect(store.calls).toEqual([]);
  });

  it('rejects while the store is away, and nothing is set in its place', async () => {
    const away = (): Promise<never> => Promise.reject(new StoreError('away'));
    const store: Store = { ...countingStore(), decide: away, giveBack: away };
    const limiter = createLimiter({ store, rules });
    await expect(limiter.setUsed('monthly', 'key', { used: 50 })).rejects.toThrow(StoreError);
    expect((await limiter.peek('monthly', 'key')).remaining).toBe(100);
  });
});
