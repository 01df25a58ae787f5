import { afterEach, describe, expect, it } from 'vitest';
import { createLimiter, fixedWindow, tokenBucket } from '../src/index.js';
import type { Limiter, Meeting, RuleOptions, Store } from '../src/index.js';
import { fakeClock } from '../src/testing/index.js';
import { faultyStore } from './support/faulty-store.js';
import { passing, turn } from './support/limiters.js';

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** Limiters over one store whose clock may be another than theirs. */
function over<const Name extends string>(rules: Record<Name, RuleOptions>) {
  const clock = fakeClock();
  let aheadUs = 0;
  const faulty = faultyStore({ ...clock, nowUs: () => clock.nowUs() + aheadUs });
  const members = new Set<string>();
  let meetings = 0;
  const meet = async ({ keys, member }: Meeting): Promise<number[]> => {
    meetings += 1;
    return keys.map(() => members.add(member).size);
  };
  const store: Store = { ...faulty.store, meet };
  const another = (): Limiter<Name> => {
    const limiter = createLimiter<Name>({
      store,
      clock,
      deadline: '50ms',
      fleetSize: 1,
      rules,
      notes: { max: 0 },
      onEvent: () => undefined,
    });
    open.push(() => limiter.close());
    return limiter;
  };
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms * 1000);
    await turn();
    await turn();
  };
  const left = async (rule: Name, key = 'key'): Promise<number | undefined> =>
    (await faulty.shared.decide({ checks: [{ rule, key, limit: rules[rule].limit as never, cost: 1 }], dry: true })).outcomes[0]?.remaining;
  return {
    limiter: another(),
    another,
    faulty,
    advance,
    left,
    meetings: () => meetings,
    storeAhead: (ms: number) => (aheadUs = ms * 1000),
  };
}

const day = (limit: number): RuleOptions => ({ limit: fixedWindow({ limit, window: '1d' }), mode: { sync: '1s' } });

/** The first contact, and the answer to who else is there. */
async function begun(limiter: Limiter<'api'>): Promise<void> {
  await limiter.check('api', 'key');
  await turn();
}

describe('what a synced key has counted and not told', () => {
  it('holds when the store’s clock goes back', async () => {
    const { limiter, advance, storeAhead } = over({ api: day(100) });
    // Away from the edge of a day.
    await advance(3_600_000);
    await begun(limiter);
    await advance(1000);
    storeAhead(-5000);
    let passed = 1;
    for (let second = 0; second < 8; second += 1) {
      passed += await passing(50, () => limiter.check('api', 'key'));
      await advance(1000);
    }
    expect(passed).toBe(100);
  });

  it('is told before a ban or its end, by this limiter', async () => {
    const { limiter } = over({ api: day(100) });
    await begun(limiter);
    expect(await passing(99, () => limiter.check('api', 'key'))).toBe(99);
    await limiter.unban('api', 'key');
    expect((await limiter.check('api', 'key')).allowed).toBe(false);
    await limiter.ban('api', 'key', '1h');
    expect(await limiter.check('api', 'key')).toMatchObject({ allowed: false, reason: 'banned' });
  });

  it('is kept while another process has banned the key, and told after it', async () => {
    const { limiter, another, advance, left } = over({ api: day(1000) });
    const other = another();
    await begun(limiter);
    await passing(300, () => limiter.check('api', 'key'));
    await other.ban('api', 'key', '10m');
    await advance(1000);
    expect(await limiter.check('api', 'key')).toMatchObject({ allowed: false, reason: 'banned', source: 'sync' });
    await other.unban('api', 'key');
    await advance(1000);
    await advance(1000);
    expect(await left('api')).toBe(1000 - 301);
  });

  it('counts beside what only the store can decide: turns in the future, groups that count refusals', async () => {
    const bucket = over({ api: { limit: tokenBucket({ capacity: 100, refill: '1/m' }), mode: { sync: '1s' } } });
    await begun(bucket.limiter);
    await bucket.limiter.acquire('api', 'key', { cost: 90, maxWait: '1s' });
    expect(await passing(100, () => bucket.limiter.check('api', 'key'))).toBe(9);
    const group = over({ api: day(100), counting: { limit: fixedWindow({ limit: 1000, window: '1d' }), countRefused: true } });
    await begun(group.limiter as Limiter<'api'>);
    await group.limiter.checkAll([
      { rule: 'api', key: 'key', cost: 90 },
      { rule: 'counting', key: 'key' },
    ]);
    expect(await passing(100, () => group.limiter.check('api', 'key'))).toBe(9);
  });

  it('is not lost when the rule changes while telling fails', async () => {
    const { limiter, faulty, advance } = over({ api: day(100) });
    await begun(limiter);
    await passing(99, () => limiter.check('api', 'key'));
    faulty.goes('hold');
    await advance(1000);
    faulty.goes('fail');
    const exact = limiter.withRules({ api: { limit: fixedWindow({ limit: 100, window: '1d' }), whenUnavailable: 'refuse' } });
    const asked = exact.check('api', 'key');
    faulty.release();
    await asked;
    faulty.goes('answer');
    for (let second = 0; second < 3; second += 1) await advance(1000);
    expect(await passing(100, () => exact.check('api', 'key'))).toBe(0);
  });

  it('comes back by a refund or a cancelled reservation', async () => {
    const { limiter, left } = over({ api: day(100) });
    await begun(limiter);
    const decision = await limiter.check('api', 'key', { cost: 60 });
    expect(decision.source).toBe('sync');
    expect(await limiter.refund(decision)).toBe(60);
    expect(await left('api')).toBe(99);
    const reservation = await limiter.reserve('api', 'key', { cost: 20 });
    await reservation.settle(5);
    expect(await left('api')).toBe(94);
  });

  it('for a group that another rule refused comes back, though it was told meanwhile', async () => {
    const { limiter, faulty, advance, left } = over({ api: day(100), none: { limit: fixedWindow({ limit: 0, window: '1d' }) } });
    await begun(limiter as Limiter<'api'>);
    faulty.goes(({ checks }) => (checks.some(({ rule }) => rule === 'none') ? 'hold' : 'answer'));
    const group = limiter.checkAll([
      { rule: 'api', key: 'key', cost: 60 },
      { rule: 'none', key: 'key' },
    ]);
    await advance(1000);
    expect(await left('api')).toBe(39);
    faulty.release();
    expect((await group).allowed).toBe(false);
    await advance(1000);
    expect(await left('api')).toBe(99);
  });
});

describe('a synced key', () => {
  it('asks once who is there, however many first checks come at once', async () => {
    const { limiter, meetings } = over({ api: day(1000) });
    await Promise.all(Array.from({ length: 200 }, () => limiter.check('api', 'key')));
    await turn();
    expect(meetings()).toBe(1);
  });

  it('stays counted here when equal rules are loaded again', async () => {
    const { limiter, faulty } = over({ api: day(1000) });
    await begun(limiter);
    faulty.asked();
    for (let reload = 0; reload < 10; reload += 1) {
      const reloaded = limiter.withRules({ api: day(1000) });
      expect((await reloaded.check('api', 'key')).source).toBe('sync');
    }
    expect(faulty.asked()).toEqual([]);
  });

  it('of a bucket says a retry time that holds, when its share had units in advance', async () => {
    for (const cost of [1, 5, 10]) {
      const { limiter, advance } = over({ api: { limit: tokenBucket({ capacity: 50, refill: '20/s' }), mode: { sync: '100ms' } } });
      await begun(limiter);
      await passing(60, () => limiter.check('api', 'key'));
      const { retryAfterMs } = await limiter.check('api', 'key', { cost });
      for (let left = retryAfterMs; left > 0; left -= 10) await advance(Math.min(10, left));
      expect((await limiter.check('api', 'key', { cost })).allowed, `cost ${cost}`).toBe(true);
    }
  });

  it('that was counted in another way and could not be told is synced again once it is', async () => {
    const { limiter, faulty, advance } = over({ api: day(1000) });
    await begun(limiter);
    await passing(10, () => limiter.check('api', 'key'));
    faulty.goes('fail');
    await limiter.withRules({ api: { limit: fixedWindow({ limit: 1000, window: '1d' }) } }).check('api', 'key');
    faulty.goes('answer');
    await advance(1000);
    await advance(1000);
    await begun(limiter);
    expect((await limiter.check('api', 'key')).source).toBe('sync');
  });
});
