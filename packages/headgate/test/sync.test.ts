import { afterEach, describe, expect, it } from 'vitest';
import { createLimiter, fixedWindow, memoryStore, tokenBucket } from '../src/index.js';
import type { Decision, Limiter, LimiterOptions, Meeting, RuleOptions, Store } from '../src/index.js';
import { fakeClock } from '../src/testing/index.js';
import { faultyStore } from './support/faulty-store.js';
import { passing, turn } from './support/limiters.js';

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** Several limiters over one store that counts who meets on a key, by a clock that stands until it is told. */
function over<const Name extends string>(rules: Record<Name, RuleOptions>, options: Partial<LimiterOptions<Name>> = {}) {
  const clock = fakeClock();
  const faulty = faultyStore(clock);
  const members = new Map<string, Map<string, number>>();
  const meetings: Meeting[] = [];
  const meet = async (meeting: Meeting): Promise<number[]> => {
    meetings.push(meeting);
    return meeting.keys.map(({ rule, key }) => {
      const there = members.get(`${rule} ${key}`) ?? new Map<string, number>();
      members.set(`${rule} ${key}`, there.set(meeting.member, clock.nowUs() + meeting.forUs));
      for (const [member, until] of there) if (until <= clock.nowUs()) there.delete(member);
      return there.size;
    });
  };
  const store: Store = { ...faulty.store, meet };
  const another = (): Limiter<Name> => {
    const limiter = createLimiter<Name>({ store, clock, deadline: '50ms', fleetSize: 1, rules, onEvent: () => undefined, ...options });
    open.push(() => limiter.close());
    return limiter;
  };
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms * 1000);
    await turn();
    await turn();
  };
  const left = async (rule: Name, key: string): Promise<number | undefined> => {
    const check = { rule, key, limit: rules[rule].limit as never, cost: 1 };
    return (await faulty.shared.decide({ checks: [check], dry: true })).outcomes[0]?.remaining;
  };
  return { limiter: another(), another, faulty, clock, advance, left, meetings, asked: () => faulty.asked().length };
}

const synced = (limit: number): RuleOptions => ({ limit: fixedWindow({ limit, window: '1m' }), mode: { sync: '1s' } });
const allowed = (decisions: readonly Decision[]): number => decisions.filter((decision) => decision.allowed).length;

describe('a synced key', () => {
  it('is decided by the store at first contact, then here, and told once in an interval', async () => {
    const { limiter, advance, asked, left } = over({ api: synced(1000) });
    expect((await limiter.check('api', 'key')).source).toBe('store');
    await turn();
    asked();
    for (let second = 0; second < 5; second += 1) {
      const decisions = await Promise.all(Array.from({ length: 40 }, () => limiter.check('api', 'key')));
      expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['sync']));
      expect(allowed(decisions)).toBe(40);
      expect(asked()).toBe(0);
      await advance(1000);
      expect(asked()).toBe(1);
    }
    expect(await left('api', 'key')).toBe(1000 - 201);
    expect(limiter.stats()).toMatchObject({ decidedLocally: 200, localKeys: 1 });
  });

  it('has all of its limit where one process has all the traffic, whatever the size of the fleet', async () => {
    const { limiter, another } = over({ api: synced(100) }, { fleetSize: 8 });
    another();
    await limiter.check('api', 'key');
    await turn();
    expect(await passing(200, () => limiter.check('api', 'key'))).toBe(99);
  });

  it('is shared by the processes that count on it, and by fewer once some have gone for three intervals', async () => {
    const { limiter, another, advance } = over({ api: synced(600) });
    const others = [another(), another()];
    for (const one of [...others, limiter]) await one.check('api', 'key');
    await turn();
    // Half of a third of what is left for each.
    expect(await passing(300, () => limiter.check('api', 'key'))).toBe(99);
    await advance(1000);
    expect(await passing(300, () => limiter.check('api', 'key'))).toBe(Math.floor((600 - 3 - 99) / 6));
    let passed = 0;
    for (let second = 0; second < 4; second += 1) {
      await advance(1000);
      passed += await passing(1, () => limiter.check('api', 'key'));
    }
    const rest = 600 - 3 - 99 - 83;
    await advance(1000);
    expect(passed + (await passing(500, () => limiter.check('api', 'key')))).toBe(rest);
  });

  it('lets at most limit x (1 + (N-1)/2N) pass over N processes', async () => {
    for (const processes of [2, 4, 8]) {
      const { another, advance } = over({ api: synced(240) });
      const all = Array.from({ length: processes }, another);
      // They know of each other by then.
      let passed = allowed(await Promise.all(all.map((one) => one.check('api', 'key'))));
      await turn();
      passed += allowed(await Promise.all(all.map((one) => one.check('api', 'key'))));
      await advance(1000);
      for (let tenth = 0; tenth < 400; tenth += 1) {
        for (const one of all) passed += await passing(5, () => one.check('api', 'key'));
        await advance(100);
      }
      const bound = 240 * (1 + (processes - 1) / (2 * processes));
      expect(passed, `${processes} processes`).toBeLessThanOrEqual(bound);
      expect(passed, `${processes} processes`).toBeGreaterThanOrEqual(240);
    }
  });

  it('begins anew with each window, by asking the store', async () => {
    const { limiter, advance, clock } = over({ api: synced(10) });
    await advance(60_000 - ((clock.nowUs() / 1000) % 60_000) + 58_500);
    expect(await passing(20, () => limiter.check('api', 'key'))).toBe(10);
    const refused = await limiter.check('api', 'key');
    expect(refused.retryAfterMs).toBe(1500);
    await advance(1500);
    expect(await limiter.check('api', 'key')).toMatchObject({ allowed: true, source: 'store', remaining: 9 });
    expect(await passing(20, () => limiter.check('api', 'key'))).toBe(9);
  });

  it('keeps what it could not tell with the window it belongs to', async () => {
    const { limiter, advance, clock, faulty, left } = over({ api: synced(100) });
    await advance(60_000 - ((clock.nowUs() / 1000) % 60_000) + 55_000);
    await limiter.check('api', 'key');
    await turn();
    await passing(20, () => limiter.check('api', 'key'));
    faulty.goes('fail');
    await advance(1000);
    faulty.goes('answer');
    // Told with the next exchange, in the same window.
    await advance(2000);
    expect(await left('api', 'key')).toBe(79);
    await passing(20, () => limiter.check('api', 'key'));
    faulty.goes('fail');
    await advance(2500);
    faulty.goes('answer');
    await advance(5000);
    expect(await left('api', 'key')).toBe(100);
  });

  it('tells again what was not answered: at worst it is counted twice, never missed', async () => {
    const { limiter, advance, faulty, left } = over({ api: synced(100) });
    await limiter.check('api', 'key');
    await turn();
    await passing(20, () => limiter.check('api', 'key'));
    faulty.goes('lose');
    await advance(1000);
    faulty.goes('answer');
    for (let second = 0; second < 3; second += 1) await advance(1000);
    expect(await left('api', 'key')).toBe(59);
  });

  it('does not tell again what was answered late', async () => {
    const { limiter, advance, faulty, left } = over({ api: synced(100) }, { deadline: '5ms' });
    await limiter.check('api', 'key');
    await turn();
    await passing(20, () => limiter.check('api', 'key'));
    faulty.goes('hold');
    await advance(1000);
    // The deadline is counted in real time.
    await new Promise((resolve) => setTimeout(resolve, 20));
    faulty.release();
    await turn();
    faulty.goes('answer');
    for (let second = 0; second < 3; second += 1) await advance(1000);
    expect(await left('api', 'key')).toBe(79);
  });

  it('spends its share when the store is away, then each check is decided without it', async () => {
    const { limiter, another, advance, faulty } = over({ api: { ...synced(100), whenUnavailable: 'refuse' } });
    const other = another();
    for (const one of [other, limiter]) await one.check('api', 'key');
    await turn();
    expect(await passing(4, () => limiter.check('api', 'key'))).toBe(4);
    faulty.goes('fail');
    await advance(1000);
    expect(await passing(20, () => limiter.check('api', 'key'))).toBe(20);
    expect(await limiter.check('api', 'key')).toMatchObject({ allowed: false, degraded: true });
  });

  it('takes a cost above its share from the store, if that has it', async () => {
    const { limiter, another } = over({ api: synced(100) });
    const other = another();
    for (const one of [other, limiter]) await one.check('api', 'key');
    await turn();
    expect(await limiter.check('api', 'key', { cost: 60 })).toMatchObject({ allowed: true, source: 'store' });
    expect(await limiter.check('api', 'key', { cost: 60 })).toMatchObject({ allowed: false, source: 'sync' });
  });

  it('of a bucket gets back what flows in while it counts', async () => {
    const limit = tokenBucket({ capacity: 100, refill: '4/s' });
    const { limiter, advance } = over({ api: { limit, mode: { sync: '1s' } } });
    await limiter.check('api', 'key');
    await turn();
    let passed = 1;
    for (let second = 0; second < 20; second += 1) {
      passed += await passing(30, () => limiter.check('api', 'key'));
      await advance(1000);
    }
    expect(passed).toBeLessThanOrEqual(100 + 4 * 21);
    expect(passed).toBeGreaterThanOrEqual(100 + 4 * 18);
  });

  it('tells the last totals when the limiter closes', async () => {
    const { limiter, faulty } = over({ api: synced(100) });
    await limiter.check('api', 'key');
    await turn();
    await passing(20, () => limiter.check('api', 'key'));
    faulty.asked();
    await limiter.close();
    expect(faulty.asked().map(({ checks }) => [checks[0]?.cost, checks[0]?.least])).toEqual([[20, 0]]);
  });

  it('is forgotten when nobody asks for it', async () => {
    const { limiter, advance, asked } = over({ api: synced(100) });
    await limiter.check('api', 'key');
    for (let second = 0; second < 5; second += 1) await advance(1000);
    asked();
    await advance(5000);
    expect(asked()).toBe(0);
    expect(limiter.stats().localKeys).toBe(0);
  });

  it('tells all of its keys in one turn, 64 of them in a call that counts who is there', async () => {
    const { limiter, advance, meetings, asked } = over({ api: synced(100) });
    const each = () => Promise.all(Array.from({ length: 100 }, (_, i) => limiter.check('api', `key${i}`)));
    await each();
    await turn();
    await each();
    meetings.length = 0;
    asked();
    await advance(1000);
    expect(meetings.map(({ keys }) => keys.length)).toEqual([64, 36]);
    expect(asked()).toBe(100);
  });
});

describe('in memory', () => {
  it('every rule is exact, whatever its mode', async () => {
    const limiter = createLimiter({
      store: memoryStore(),
      rules: { a: synced(3), b: { limit: tokenBucket({ capacity: 3, refill: '1/m' }), mode: 'lease' } },
    });
    for (const rule of ['a', 'b'] as const) {
      expect(await passing(5, () => limiter.check(rule, 'key'))).toBe(3);
      expect((await limiter.check(rule, 'key')).source).toBe('store');
    }
  });
});
