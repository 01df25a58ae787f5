import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
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
import type { CountedLimit, LimiterOptions, RuleOptions } from '../src/index.js';
import { notes } from '../src/layers/notes.js';
import { fakeClock } from '../src/testing/index.js';
import { faultyStore } from './support/faulty-store.js';
import { passing, turn } from './support/limiters.js';

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

function over<const Name extends string>(rules: Record<Name, RuleOptions>, options: Partial<LimiterOptions<Name>> = {}) {
  const clock = fakeClock();
  const faulty = faultyStore(clock);
  const limiter = createLimiter<Name>({
    store: faulty.store,
    clock,
    deadline: '50ms',
    fleetSize: 1,
    rules,
    onEvent: () => undefined,
    ...options,
  });
  open.push(() => limiter.close());
  const seconds = (count: number): void => clock.advance(Math.round(count * 1_000_000));
  const asked = (): number => faulty.asked().length;
  return { limiter, faulty, seconds, asked };
}

const perDay = (limit: number) => fixedWindow({ limit, window: '1d' });

describe('a refused key', () => {
  it('is refused without asking for its retry time, and may pass as soon as that is over', async () => {
    const { limiter, seconds, asked } = over({ api: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) } });
    expect(await passing(21, () => limiter.check('api', 'key'))).toBe(20);
    asked();
    expect(await limiter.check('api', 'key')).toMatchObject({
      allowed: false,
      reason: 'limited',
      source: 'note',
      degraded: false,
      remaining: 0,
      retryAfterMs: 500,
      limit: 20,
    });
    seconds(0.4);
    expect(await limiter.check('api', 'key')).toMatchObject({ source: 'note', retryAfterMs: 100, resetAfterMs: 9600 });
    expect(asked()).toBe(0);
    seconds(0.1);
    expect(await limiter.check('api', 'key')).toMatchObject({ allowed: true, source: 'store' });
    expect(limiter.stats()).toMatchObject({ noted: 2, degraded: 0, checks: 24 });
  });

  it('is asked for again after a second, however long its retry time', async () => {
    const { limiter, seconds, asked } = over({ api: { limit: perDay(1) } });
    await passing(2, () => limiter.check('api', 'key'));
    asked();
    for (let tenths = 0; tenths < 50; tenths += 1) {
      expect((await limiter.check('api', 'key')).allowed).toBe(false);
      seconds(0.1);
    }
    expect(asked()).toBe(4);
  });

  it('is refused for the refused cost and above only: 8 of 10 pass, 5 do not, 2 pass, 1 does not', async () => {
    const { limiter, asked } = over({ api: { limit: perDay(10) } });
    const check = async (cost: number) => (await limiter.check('api', 'key', { cost })).allowed;
    expect([await check(8), await check(5), await check(2), await check(1)]).toEqual([true, false, true, false]);
    expect(asked()).toBe(4);
    expect([await check(1), await check(3), await check(11)]).toEqual([false, false, false]);
    expect(asked()).toBe(0);
    expect(await limiter.check('api', 'key', { cost: 11 })).toMatchObject({
      reason: 'cost-above-limit',
      retryAfterMs: Number.POSITIVE_INFINITY,
    });
  });

  it('is that key alone, of that rule and with that limit: a changed limit asks anew', async () => {
    const { limiter, asked } = over({ api: { limit: perDay(1), plans: { pro: perDay(2) } }, other: { limit: perDay(1) } });
    await passing(2, () => limiter.check('api', 'key'));
    asked();
    expect(await limiter.check('api', 'key2')).toMatchObject({ allowed: true });
    expect(await limiter.check('other', 'key')).toMatchObject({ allowed: true });
    expect(await limiter.check('api', 'key', { plan: 'pro' })).toMatchObject({ allowed: true, limit: 2 });
    expect(await limiter.withRules({ api: { limit: perDay(5) } }).check('api', 'key')).toMatchObject({ allowed: true, limit: 5 });
    expect(asked()).toBe(4);
    expect(await limiter.withRules({ api: { limit: perDay(1) } }).check('api', 'key')).toMatchObject({ allowed: false, source: 'note' });
  });

  it('that is banned is refused for any cost', async () => {
    const { limiter, faulty, seconds, asked } = over({ api: { limit: perDay(10) } });
    await limiter.ban('api', 'key', '2s');
    await limiter.check('api', 'key', { cost: 5 });
    asked();
    expect(await limiter.check('api', 'key')).toMatchObject({ reason: 'banned', source: 'note', retryAfterMs: 2000 });
    seconds(0.5);
    expect(await limiter.check('api', 'key', { cost: 9 })).toMatchObject({ reason: 'banned', source: 'note', retryAfterMs: 1500 });
    expect(asked()).toBe(0);
    await faulty.shared.unban({ rule: 'api', key: 'key', kinds: ['fixedWindow'] });
    seconds(0.5);
    expect(await limiter.check('api', 'key')).toMatchObject({ allowed: true });
  });

  it('may pass at once after a reset, unban, refund or cancel by this limiter', async () => {
    const { limiter } = over({ api: { limit: perDay(1) } });
    const full = async (key: string) => {
      const taken = await limiter.check('api', key);
      await limiter.check('api', key);
      expect(await limiter.check('api', key)).toMatchObject({ source: 'note' });
      return taken;
    };
    await full('reset');
    await limiter.reset('api', 'reset');
    await limiter.refund(await full('refund'));
    await limiter.ban('api', 'ban', '1h');
    await passing(2, () => limiter.check('api', 'ban'));
    await limiter.unban('api', 'ban');
    for (const key of ['reset', 'refund', 'ban']) expect(await limiter.check('api', key), key).toMatchObject({ allowed: true });
    const reserved = await limiter.reserve('api', 'reserve');
    expect((await limiter.reserve('api', 'reserve')).allowed).toBe(false);
    await reserved.cancel();
    expect((await limiter.reserve('api', 'reserve')).allowed).toBe(true);
  });

  it('is not noted where refusals count, hold nothing, observe only, or were made without the store', async () => {
    const limit = perDay(1);
    const { limiter, faulty, asked } = over({
      counted: { limit, countRefused: true },
      shadow: { limit, shadow: true },
      jobs: { limit: concurrency({ limit: 1, expires: '1m' }) },
      api: { limit },
    });
    for (const rule of ['counted', 'shadow', 'jobs'] as const) await passing(5, () => limiter.check(rule, 'key'));
    expect(asked()).toBe(15);
    faulty.goes('fail');
    await passing(3, () => limiter.check('api', 'key'));
    expect(limiter.stats()).toMatchObject({ notes: 0, noted: 0 });
  });

  it('can be looked at, and its turn waited for', async () => {
    const { limiter, asked } = over({ api: { limit: tokenBucket({ capacity: 1, refill: '1/s' }) } });
    await passing(2, () => limiter.check('api', 'key'));
    asked();
    expect(await limiter.peek('api', 'key')).toMatchObject({ source: 'store', allowed: false });
    expect(await limiter.acquire('api', 'key', { maxWait: '1ms' })).toMatchObject({ source: 'store', allowed: false });
    expect(asked()).toBe(2);
  });
});

describe('a group with a refused key', () => {
  it('is refused without asking, and says which check it was', async () => {
    const { limiter, asked } = over({ perIp: { limit: perDay(1) }, login: { limit: perDay(100) } });
    const ask = (account: string) =>
      limiter.checkAll([
        { rule: 'perIp', key: 'ip' },
        { rule: 'login', key: account },
      ]);
    await ask('a');
    expect(await ask('b')).toMatchObject({ allowed: false, rule: 'perIp', source: 'store' });
    asked();
    const noted = await ask('c');
    expect(noted).toMatchObject({ allowed: false, rule: 'perIp', source: 'note', reason: 'limited' });
    expect(noted.decisions).toMatchObject([
      { rule: 'perIp', allowed: false },
      { rule: 'login', allowed: true },
    ]);
    expect(noted.retryAfterMs).toBeGreaterThan(0);
    expect(asked()).toBe(0);
    expect(await limiter.check('login', 'c')).toMatchObject({ allowed: true, remaining: 99 });
  });

  it('that names a key twice notes the cost of both', async () => {
    const { limiter } = over({ api: { limit: perDay(1) } });
    const twice = [
      { rule: 'api', key: 'key' },
      { rule: 'api', key: 'key' },
    ] as const;
    expect(await limiter.checkAll(twice)).toMatchObject({ allowed: false });
    expect(await limiter.check('api', 'key')).toMatchObject({ allowed: true });
  });
});

describe('a group with a rule that counts refusals', () => {
  it('reaches the store though another of its keys is noted', async () => {
    const { limiter, faulty } = over({ account: { limit: perDay(1) }, ip: { limit: perDay(10), countRefused: true } });
    const ask = () =>
      limiter.checkAll([
        { rule: 'account', key: 'locked' },
        { rule: 'ip', key: '10.0.0.1' },
      ]);
    for (let i = 0; i < 8; i += 1) await ask();
    const [left] = (await faulty.shared.decide({ checks: [{ rule: 'ip', key: '10.0.0.1', limit: perDay(10), cost: 1 }], dry: true }))
      .outcomes;
    expect(left?.remaining).toBe(2);
  });
});

describe('while one call asks again', () => {
  it('the others of that key wait for its answer', async () => {
    const { limiter, faulty, seconds, asked } = over({ api: { limit: perDay(1) } });
    await passing(2, () => limiter.check('api', 'key'));
    seconds(1);
    asked();
    faulty.goes('hold');
    const all = Array.from({ length: 100 }, () => limiter.check('api', 'key'));
    await turn();
    expect(asked()).toBe(1);
    faulty.release();
    const decisions = await Promise.all(all);
    expect(decisions.every(({ allowed }) => !allowed)).toBe(true);
    expect(decisions.map(({ source }) => source).sort()).toEqual([...Array.from({ length: 99 }, () => 'note'), 'store']);
    expect(asked()).toBe(0);
  });

  it('and it passes, each of the others asks for itself', async () => {
    const { limiter, seconds } = over({ api: { limit: fixedWindow({ limit: 3, window: '1s' }) } });
    await passing(4, () => limiter.check('api', 'key'));
    seconds(1);
    const decisions = await Promise.all(Array.from({ length: 10 }, () => limiter.check('api', 'key')));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(3);
  });

  it('and gets no answer, nobody waits longer than the deadline', async () => {
    const { limiter, faulty, seconds } = over({ api: { limit: perDay(1) } }, { deadline: '100ms' });
    await passing(2, () => limiter.check('api', 'key'));
    seconds(1);
    faulty.goes('hold');
    const began = performance.now();
    const decisions = await Promise.all(Array.from({ length: 5 }, () => limiter.check('api', 'key')));
    expect(performance.now() - began).toBeLessThan(190);
    expect(decisions.every(({ degraded }) => degraded)).toBe(true);
    faulty.release();
  });
});

describe('a key for which other processes contend', () => {
  it('is asked about once a second and no more, and what a client is told stays true', async () => {
    const limit = tokenBucket({ capacity: 20, refill: '2/s' });
    const { limiter, faulty, seconds, asked } = over({ api: { limit } });
    const others = async () => (await faulty.shared.decide({ checks: [{ rule: 'api', key: 'key', limit, cost: 1 }] })).allowed;
    while (await others());
    let calls = 0;
    for (let tenths = 0; tenths < 100; tenths += 1) {
      // They take each unit as it comes back.
      await others();
      await passing(5, () => limiter.check('api', 'key'));
      if (tenths >= 30) calls += asked();
      else asked();
      seconds(0.1);
    }
    expect(calls).toBeLessThanOrEqual(8);
    // They stop: what was told last is when it passes.
    const { allowed, retryAfterMs } = await limiter.check('api', 'key');
    expect([allowed, retryAfterMs <= 1000]).toEqual([false, true]);
    seconds(retryAfterMs / 1000);
    expect(await limiter.check('api', 'key')).toMatchObject({ allowed: true });
  });
});

describe('five reservations of 5 a minute', () => {
  it('in flight refuse a sixth; cancelled, the next passes within a second on every server', async () => {
    const clock = fakeClock();
    const faulty = faultyStore(clock);
    const rules = { api: { limit: fixedWindow({ limit: 5, window: '1m' }) } };
    const [a, b] = [0, 1].map(() => createLimiter({ store: faulty.store, clock, fleetSize: 2, deadline: '2s', rules }));
    if (!a || !b) throw new Error('no limiters');
    const reservations = [];
    for (const limiter of [a, b, a, b, a]) reservations.push(await limiter.reserve('api', 'key'));
    expect(reservations.every(({ allowed }) => allowed)).toBe(true);
    for (const limiter of [a, b]) expect((await limiter.reserve('api', 'key')).allowed).toBe(false);
    for (const reserved of reservations) await reserved.cancel();
    clock.advance(1_000_000);
    for (const limiter of [a, b]) expect((await limiter.reserve('api', 'key')).allowed).toBe(true);
    await a.close();
  });
});

describe('the notes', () => {
  it('are bounded: the oldest gives way, and how often that was is counted', async () => {
    const clock = fakeClock();
    const { store } = faultyStore(clock);
    const noted = notes({ store, max: 3, clock });
    const limit = perDay(0);
    const ask = (key: string) => noted.decide({ checks: [{ rule: 'api', key, limit, cost: 1 }] });
    for (const key of ['a', 'b', 'c', 'd', 'e']) await ask(key);
    expect(noted.notes()).toMatchObject({ size: 3, dropped: 2 });
    expect([(await ask('e')).source, (await ask('a')).source]).toEqual(['note', 'store']);
    clock.advance(2_000_000);
    for (const key of ['f', 'g', 'h', 'i']) await ask(key);
    expect(noted.notes()).toMatchObject({ size: 3 });
  });

  it('become fewer once an attack is over: for each new one two that say nothing any more leave', async () => {
    const clock = fakeClock();
    const { store } = faultyStore(clock);
    const noted = notes({ store, max: 1000, clock });
    const ask = (key: string) => noted.decide({ checks: [{ rule: 'api', key, limit: perDay(0), cost: 1 }] });
    for (let i = 0; i < 500; i += 1) await ask(`attacker${i}`);
    clock.advance(2_000_000);
    for (let i = 0; i < 300; i += 1) await ask(`other${i}`);
    expect(noted.notes()).toMatchObject({ size: 300, dropped: 0 });
  });

  it('are left out with max 0', async () => {
    const { limiter, asked } = over({ api: { limit: perDay(1) } }, { notes: { max: 0 } });
    await passing(10, () => limiter.check('api', 'key'));
    expect(asked()).toBe(10);
  });

  const limits = (size: number, seconds: number): CountedLimit[] => [
    tokenBucket({ capacity: size, refill: `${size}/${seconds}s` }),
    fixedWindow({ limit: size, window: seconds * 1000 }),
    fixedWindow({ limit: size, window: seconds * 1000, from: 'first-request' }),
    slidingWindow({ limit: size, window: seconds * 1000 }),
    slidingLog({ limit: size, window: seconds * 1000 }),
    quota({ limit: size, period: 'hour' }),
    consecutiveFailures({ limit: 2 * size, free: size - 1, firstWait: 100, longestWait: seconds * 1000, forget: seconds * 2000 }),
  ];

  it('never refuse what the store would have passed, nor promise a retry that would not pass', async () => {
    const steps = fc.array(fc.record({ cost: fc.integer({ min: 1, max: 7 }), wait: fc.integer({ min: 0, max: 900 }) }), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 6 }),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 4 }),
        steps,
        async (...drawn) => {
          const [kind, size, length, sequence] = drawn;
          const limit = limits(size, length)[kind] as CountedLimit;
          const clock = fakeClock();
          const { store, shared } = faultyStore(clock);
          const noted = notes({ store, max: 100, clock });
          for (const { cost, wait } of sequence) {
            clock.advance(wait * 1000);
            const checks = [{ rule: 'api', key: 'key', limit, cost }];
            const truth = (await shared.decide({ checks, dry: true })).outcomes[0];
            const { source, outcomes } = await noted.decide({ checks });
            const said = outcomes[0];
            if (truth === undefined || said === undefined) throw new Error('no outcome');
            if (source !== 'note') continue;
            expect(truth.allowed).toBe(false);
            expect(said.retryAfterUs).toBeGreaterThanOrEqual(truth.retryAfterUs);
            expect(said.remaining).toBeLessThanOrEqual(truth.remaining);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});
