import { join } from 'node:path';
import { Redis } from 'ioredis';
import { createLimiter, memoryStore, quota, type Limiter } from 'headgate';
import { redisStore } from 'headgate/redis';
import { fakeClock } from 'headgate/testing';
import { describe, expect, it } from 'vitest';
import { startRedis } from '../../../test/support/redis.js';
import { readDatabaseUrl } from '../src/database/address.js';
import { openDatabase } from '../src/database/open.js';
import { quotaKeeper, type Checkpoints } from '../src/usecases/quota-keeper.js';
import { later, temporary } from './support/service.js';

const monthly = quota({ limit: 100, period: 'month' });

function checkpoints(): Checkpoints {
  const database = openDatabase(readDatabaseUrl(`sqlite:${join(temporary(), 'quotas.db')}`));
  later(() => database.close());
  return {
    save: (taken) => database.checkpoints.save(taken.map((one) => ({ ...one, takenAt: Math.floor(one.takenAt / 1000) }))),
    async find(all) {
      const found = await database.checkpoints.find(all);
      return found.map((one) => one && { used: one.used, takenAt: one.takenAt * 1000 });
    },
  };
}

/** A server's part: a limiter over a store, and a keeper that watches it. */
function server(limiter: () => Limiter<'monthly'>, kept: Checkpoints, clock = fakeClock()) {
  const events: string[] = [];
  const keeper = quotaKeeper({ checkpoints: kept, limiter, clock, onEvent: ({ type, message }) => events.push(`${type}: ${message}`) });
  later(() => keeper.close());
  const use = async (cost: number): Promise<number> => {
    const decision = await limiter().check('monthly', 'alice', { cost });
    keeper.observe({ decision, limit: monthly, plan: undefined });
    return decision.remaining;
  };
  const remaining = async (): Promise<number> => (await limiter().peek('monthly', 'alice')).remaining;
  return { keeper, events, use, remaining };
}

describe('a quota counter', () => {
  it('that Redis has lost is back from its checkpoint, with what was used since', async () => {
    const redis = await startRedis();
    later(redis.kill);
    const client = new Redis(redis.port, redis.host);
    later(() => client.disconnect());
    const limiter = createLimiter({ store: redisStore({ client }), deadline: '2s', fleetSize: 1, rules: { monthly: { limit: monthly } } });
    later(() => limiter.close());
    await limiter.ready();
    const { keeper, events, use, remaining } = server(() => limiter, checkpoints());
    for (const cost of [30, 12]) await use(cost);
    await keeper.flush();
    await client.flushall();
    expect(await use(3)).toBe(97);
    await expect.poll(remaining).toBe(55);
    expect(events).toEqual([expect.stringContaining('restored: rule "monthly"')]);
  });

  it('lost on the 25th is back for its month, and not in the next', async () => {
    const clock = fakeClock();
    clock.advance(24 * 86_400_000_000);
    const make = () => createLimiter({ store: memoryStore({ clock }), rules: { monthly: { limit: monthly } }, clock });
    let limiter = make();
    const { keeper, events, use, remaining } = server(() => limiter, checkpoints(), clock);
    await use(60);
    await keeper.flush();
    limiter = make();
    await use(1);
    await expect.poll(remaining).toBe(39);
    await keeper.flush();
    clock.advance(7 * 86_400_000_000);
    await use(1);
    await keeper.flush();
    expect(await remaining()).toBe(99);
    expect(events).toHaveLength(1);
  });

  it('that came back by a refund is saved lower; one that another server saved higher stays', async () => {
    const clock = fakeClock();
    const kept = checkpoints();
    const limiter = createLimiter({ store: memoryStore({ clock }), rules: { monthly: { limit: monthly } }, clock });
    const one = server(() => limiter, kept, clock);
    const other = server(() => limiter, kept, clock);
    const periodEnd = Date.UTC(2026, 1, 1);
    const saved = async (): Promise<number | undefined> => (await kept.find([{ rule: 'monthly', key: 'alice', periodEnd }]))[0]?.used;
    await one.use(10);
    await expect.poll(() => one.keeper.flush().then(saved)).toBe(10);
    clock.advance(1_000_000);
    await other.use(5);
    await other.keeper.flush();
    expect(await saved()).toBe(15);
    clock.advance(1_000_000);
    const decision = await limiter.check('monthly', 'alice', { cost: 20 });
    one.keeper.observe({ decision, limit: monthly, plan: undefined });
    one.keeper.returned({ rule: 'monthly', key: 'alice', limit: monthly }, await limiter.refund(decision));
    await one.keeper.flush();
    expect(await saved()).toBe(15);
  });

  it('is kept in mind while the database is away, and saved once it is back; nothing is restored from what cannot be looked up', async () => {
    const clock = fakeClock();
    const kept = checkpoints();
    let isAway = true;
    const away: Checkpoints = {
      save: (taken) => (isAway ? Promise.reject(new Error('away')) : kept.save(taken)),
      find: (of) => (isAway ? Promise.reject(new Error('away')) : kept.find(of)),
    };
    const limiter = createLimiter({ store: memoryStore({ clock }), rules: { monthly: { limit: monthly } }, clock });
    const { keeper, events, use } = server(() => limiter, away, clock);
    await use(10);
    await use(10);
    await keeper.flush();
    expect(keeper.stats().unsaved).toBe(1);
    isAway = false;
    await keeper.flush();
    await expect.poll(() => keeper.flush().then(() => keeper.stats().unsaved)).toBe(0);
    expect((await kept.find([{ rule: 'monthly', key: 'alice', periodEnd: Date.UTC(2026, 1, 1) }]))[0]?.used).toBe(20);
    expect(events.every((event) => event.startsWith('failed'))).toBe(true);
  });

  it('lost between two savings is back with what was in mind, not only with what was saved', async () => {
    const clock = fakeClock();
    const make = () => createLimiter({ store: memoryStore({ clock }), rules: { monthly: { limit: monthly } }, clock });
    let limiter = make();
    const { keeper, use, remaining } = server(() => limiter, checkpoints(), clock);
    await use(40);
    await keeper.flush();
    clock.advance(1_000_000);
    await use(10);
    limiter = make();
    clock.advance(1_000_000);
    await use(1);
    await keeper.flush();
    expect(await remaining()).toBe(49);
  });

  it('that was given back whole, or reset, after it was saved is not charged again', async () => {
    const clock = fakeClock();
    const kept = checkpoints();
    const limiter = createLimiter({ store: memoryStore({ clock }), rules: { monthly: { limit: monthly } }, clock });
    const { keeper, events, use, remaining } = server(() => limiter, kept, clock);
    const other = server(() => limiter, kept, clock);
    const decision = await limiter.check('monthly', 'alice', { cost: 50 });
    keeper.observe({ decision, limit: monthly, plan: undefined });
    await keeper.flush();
    clock.advance(1_000_000);
    keeper.returned({ rule: 'monthly', key: 'alice', limit: monthly }, await limiter.refund(decision));
    await keeper.flush();
    clock.advance(1_000_000);
    await other.use(1);
    await other.keeper.flush();
    expect(await remaining()).toBe(99);
    await use(30);
    await keeper.flush();
    clock.advance(1_000_000);
    await limiter.reset('monthly', 'alice');
    keeper.returned({ rule: 'monthly', key: 'alice', limit: monthly }, Infinity);
    await use(1);
    await keeper.flush();
    expect(await remaining()).toBe(99);
    expect([...events, ...other.events]).toEqual([]);
  });

  it('that another server saved while the checkpoint could not be looked up is not charged twice; the trouble is told once', async () => {
    const clock = fakeClock();
    const kept = checkpoints();
    let isAway = true;
    const away: Checkpoints = { ...kept, find: (of) => (isAway ? Promise.reject(new Error('away')) : kept.find(of)) };
    const limiter = createLimiter({ store: memoryStore({ clock }), rules: { monthly: { limit: monthly } }, clock });
    const one = server(() => limiter, away, clock);
    const other = server(() => limiter, kept, clock);
    await one.use(1);
    await one.keeper.flush();
    clock.advance(1_000_000);
    await other.use(20);
    await other.keeper.flush();
    isAway = false;
    for (let i = 0; i < 3; i += 1) await one.keeper.flush();
    expect(await one.remaining()).toBe(79);
    expect(one.events).toHaveLength(1);
  });

  it('that is lowered is not taken for a lost one by a check that comes while it is', async () => {
    const clock = fakeClock();
    const limiter = createLimiter({ store: memoryStore({ clock }), rules: { monthly: { limit: monthly } }, clock });
    const { keeper, events, use, remaining } = server(() => limiter, checkpoints(), clock);
    await use(60);
    await keeper.flush();
    clock.advance(1_000_000);
    await keeper.whileLowering({ rule: 'monthly', key: 'alice' }, async () => {
      await limiter.setUsed('monthly', 'alice', { used: 0 });
      await use(1);
      keeper.adjusted({ decision: await limiter.peek('monthly', 'alice'), limit: monthly, plan: undefined });
    });
    await keeper.flush();
    expect(await remaining()).toBe(99);
    expect(events).toEqual([]);
  });

  it('that was lost is back though the first check after the loss was given back before it was looked up', async () => {
    const clock = fakeClock();
    const make = () => createLimiter({ store: memoryStore({ clock }), rules: { monthly: { limit: monthly } }, clock });
    let limiter = make();
    let isAway = false;
    const kept = checkpoints();
    const away: Checkpoints = { ...kept, find: (all) => (isAway ? Promise.reject(new Error('away')) : kept.find(all)) };
    const { keeper, use, remaining } = server(() => limiter, away, clock);
    await use(40);
    await keeper.flush();
    [limiter, isAway] = [make(), true];
    clock.advance(1_000_000);
    const decision = await limiter.check('monthly', 'alice', { cost: 5 });
    keeper.observe({ decision, limit: monthly, plan: undefined });
    keeper.returned({ rule: 'monthly', key: 'alice', limit: monthly }, await limiter.refund(decision));
    await keeper.flush();
    isAway = false;
    for (let i = 0; i < 3; i += 1) await keeper.flush();
    expect(await remaining()).toBe(60);
  });

  it('is saved though others come and are looked up without end', async () => {
    const clock = fakeClock();
    const limiter = createLimiter({ store: memoryStore({ clock }), rules: { monthly: { limit: monthly } }, clock });
    const kept = checkpoints();
    let isOver = false;
    let more = 0;
    const see = async (): Promise<void> => {
      const decision = await limiter.check('monthly', `customer ${(more += 1)}`);
      keeper.observe({ decision, limit: monthly, plan: undefined });
    };
    const endless: Checkpoints = {
      ...kept,
      async find(all) {
        if (!isOver) await see();
        return kept.find(all);
      },
    };
    const { keeper } = server(() => limiter, endless, clock);
    for (let i = 0; i < 200; i += 1) await see();
    await keeper.flush();
    isOver = true;
    expect(keeper.stats().saved).toBeGreaterThanOrEqual(200);
  });

  it('is looked up with many others in few queries, at most two at once, and none twice at once', async () => {
    const clock = fakeClock();
    const limiter = createLimiter({ store: memoryStore({ clock }), rules: { monthly: { limit: monthly } }, clock });
    const kept = checkpoints();
    const sizes: number[] = [];
    let underWay = 0;
    let most = 0;
    const watched: Checkpoints = {
      ...kept,
      async find(all) {
        sizes.push(all.length);
        most = Math.max(most, (underWay += 1));
        const found = await kept.find(all);
        await new Promise((resolve) => setImmediate(resolve));
        underWay -= 1;
        return found;
      },
    };
    const { keeper } = server(() => limiter, watched, clock);
    for (let i = 0; i < 2000; i += 1) {
      const decision = await limiter.check('monthly', `customer ${i}`);
      keeper.observe({ decision, limit: monthly, plan: undefined });
    }
    await keeper.flush();
    expect(sizes.reduce((a, b) => a + b, 0)).toBe(2000);
    expect(sizes.length).toBeLessThanOrEqual(2000 / 64 + 3);
    expect(most).toBe(2);
    expect(keeper.stats()).toMatchObject({ lookedUp: 2000, lookupsWaiting: 0, saved: 2000, unsaved: 0 });
  });

  it('says how many were saved, how many not, and for how long the oldest waits', async () => {
    const clock = fakeClock();
    let isAway = false;
    const kept = checkpoints();
    const away: Checkpoints = { ...kept, save: (taken) => (isAway ? Promise.reject(new Error('away')) : kept.save(taken)) };
    const limiter = createLimiter({ store: memoryStore({ clock }), rules: { monthly: { limit: monthly } }, clock });
    const { keeper, use } = server(() => limiter, away, clock);
    await use(1);
    await keeper.flush();
    expect(keeper.stats()).toMatchObject({ saved: 1, failed: 0, unsaved: 0, oldestUnsavedMs: 0 });
    isAway = true;
    await use(1);
    clock.advance(30_000_000);
    await keeper.flush();
    clock.advance(5_000_000);
    await use(1);
    expect(keeper.stats()).toMatchObject({ saved: 1, failed: 1, unsaved: 1, oldestUnsavedMs: 35_000 });
    isAway = false;
    await keeper.flush();
    expect(keeper.stats()).toMatchObject({ saved: 2, failed: 1, dropped: 0, unsaved: 0, oldestUnsavedMs: 0 });
  });

  it('of which there are more than 100,000 between two savings is let go, and counted', async () => {
    const clock = fakeClock();
    const limiter = createLimiter({ store: memoryStore({ clock }), rules: { monthly: { limit: monthly } }, clock });
    const slow: Checkpoints = { save: () => Promise.resolve(), find: (all) => Promise.resolve(all.map(() => undefined)) };
    const { keeper } = server(() => limiter, slow, clock);
    const decision = await limiter.check('monthly', 'alice', { cost: 2 });
    for (let i = 0; i < 100_003; i += 1)
      keeper.observe({ decision: { ...decision, key: `customer ${i}` }, limit: monthly, plan: undefined });
    expect(keeper.stats()).toMatchObject({ unsaved: 100_000, dropped: 3 });
    await keeper.flush();
    expect(keeper.stats()).toMatchObject({ unsaved: 0, saved: 100_000, lookedUp: 100_000 });
  });
});
