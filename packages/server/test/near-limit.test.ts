import { describe, expect, it } from 'vitest';
import { createLimiter, memoryStore, quota, type Decision } from 'headgate';
import { fakeClock } from 'headgate/testing';
import { nearLimits, type NearLimit, type NearLimitsOptions } from '../src/usecases/near-limit.js';

interface Watching extends Partial<NearLimitsOptions> {
  /** Whether there is room for what may have been told before. */
  readonly hasRoom?: () => boolean;
}

function watched({ hasRoom = () => true, ...options }: Watching = {}) {
  const events: NearLimit[] = [];
  const { decided: see, changed } = nearLimits({
    secret: 'shared by all servers',
    tell(event, repeats) {
      if (repeats && !hasRoom()) return false;
      events.push(event);
      return true;
    },
    ...options,
  });
  return { events, see, changed, told: () => events.map(({ key, percent, used }) => [key, percent, used]) };
}

const monthly = quota({ limit: 100, period: 'month' });

function limiter() {
  const clock = fakeClock();
  return {
    clock,
    limiter: createLimiter({
      store: memoryStore({ clock }),
      rules: { monthly: { limit: monthly, plans: { big: quota({ limit: 1000, period: 'month' }) } } },
      clock,
    }),
  };
}

describe('a quota that is nearly used up', () => {
  it('is told of once at 80 % and once at 100 %, by the decision that crosses', async () => {
    const { events, see } = watched();
    const { limiter: used } = limiter();
    for (let i = 0; i < 120; i += 1) see(await used.check('monthly', 'customer7'));
    const told = events.map(({ rule, key, percent, used: units, limit }) => ({ rule, key, percent, used: units, limit }));
    expect(told).toEqual([
      { rule: 'monthly', key: 'customer7', percent: 80, used: 80, limit: 100 },
      { rule: 'monthly', key: 'customer7', percent: 100, used: 100, limit: 100 },
    ]);
    expect(new Date(events[0]?.resetsAt ?? 0).toISOString()).toBe('2026-02-01T00:00:00.000Z');
  });

  it('is told of by one cost that crosses both', async () => {
    const { events, see } = watched();
    const { limiter: used } = limiter();
    see(await used.check('monthly', 'customer7', { cost: 70 }));
    see(await used.check('monthly', 'customer7', { cost: 30 }));
    expect(events.map(({ percent }) => percent)).toEqual([80, 100]);
  });

  it('is told of again in the next period, under another id; the same event has the same id everywhere', async () => {
    const { events, see } = watched();
    const { clock, limiter: used } = limiter();
    see(await used.check('monthly', 'customer7', { cost: 80 }));
    clock.advance(31 * 86_400_000_000);
    see(await used.check('monthly', 'customer7', { cost: 80 }));
    const other = watched();
    const { limiter: elsewhere } = limiter();
    other.see(await elsewhere.check('monthly', 'customer7', { cost: 80 }));
    expect(events).toHaveLength(2);
    expect(events[0]?.id).not.toBe(events[1]?.id);
    expect(other.events[0]?.id).toBe(events[0]?.id);
  });

  it('is not told of by decisions without the store, from a note, or under a ban', async () => {
    const { events, see } = watched();
    const { limiter: used } = limiter();
    const allowed = await used.check('monthly', 'customer7', { cost: 80 });
    see({ ...allowed, degraded: true } as Decision);
    see({ ...allowed, source: 'note' } as Decision);
    await used.ban('monthly', 'customer8', '1h');
    see(await used.check('monthly', 'customer8'));
    expect(events).toEqual([]);
  });

  it('is told of by one server of two, though the other goes on with the key', async () => {
    const [one, other] = [watched(), watched()];
    const { limiter: used } = limiter();
    one.see(await used.check('monthly', 'customer7', { cost: 10 }));
    other.see(await used.check('monthly', 'customer7', { cost: 75 }));
    for (let i = 0; i < 10; i += 1) one.see(await used.check('monthly', 'customer7'));
    expect([one.told(), other.told()]).toEqual([[], [['customer7', 80, 85]]]);
  });

  it('is told of by a settle, or a bill, that crosses; once', async () => {
    const { see, changed, told } = watched();
    const { limiter: used } = limiter();
    const reserved = await used.reserve('monthly', 'customer7', { cost: 10 });
    see(reserved.decision);
    await reserved.settle(85);
    changed(await used.peek('monthly', 'customer7'));
    see(await used.check('monthly', 'customer7'));
    await used.setUsed('monthly', 'customer7', { used: 300 });
    for (let i = 0; i < 3; i += 1) changed(await used.peek('monthly', 'customer7'));
    see(await used.check('monthly', 'customer7'));
    expect(told()).toEqual([
      ['customer7', 80, 85],
      ['customer7', 100, 100],
    ]);
  });

  it('is told of by the first decision after the limit was lowered, be it a refusal', async () => {
    const { see, told } = watched();
    const { limiter: used } = limiter();
    see(await used.check('monthly', 'customer7', { cost: 85, plan: 'big' }));
    see(await used.check('monthly', 'customer8', { cost: 500, plan: 'big' }));
    see(await used.check('monthly', 'customer7', { cost: 30 }));
    see(await used.check('monthly', 'customer8'));
    for (let i = 0; i < 3; i += 1) see(await used.check('monthly', 'customer7'));
    expect(told()).toEqual([
      ['customer7', 80, 85],
      ['customer8', 80, 100],
      ['customer8', 100, 100],
    ]);
  });

  it('is told of again by who sees the key for the first time, under the same id', async () => {
    const [one, other] = [watched(), watched()];
    const { limiter: used } = limiter();
    one.see(await used.check('monthly', 'customer7', { cost: 85 }));
    for (let i = 0; i < 3; i += 1) other.see(await used.check('monthly', 'customer7'));
    expect(other.told()).toEqual([['customer7', 80, 86]]);
    expect(other.events[0]?.id).toBe(one.events[0]?.id);
  });

  it('and may have been told of before, waits until there is room for that', async () => {
    let hasRoom = false;
    const { see, changed, told } = watched({ hasRoom: () => hasRoom });
    const { limiter: used } = limiter();
    await used.check('monthly', 'customer7', { cost: 85 });
    await used.check('monthly', 'customer8', { cost: 10 });
    see(await used.check('monthly', 'customer8'));
    see(await used.check('monthly', 'customer7'));
    see(await used.check('monthly', 'customer8', { cost: 70 }));
    await used.setUsed('monthly', 'customer8', { used: 100 });
    changed(await used.peek('monthly', 'customer8'));
    expect(told()).toEqual([['customer8', 80, 81]]);
    hasRoom = true;
    for (let i = 0; i < 2; i += 1) for (const key of ['customer7', 'customer8']) see(await used.check('monthly', key));
    expect(told().slice(1)).toEqual([
      ['customer7', 80, 87],
      ['customer8', 100, 100],
    ]);
  });

  it('is not told of twice by who has many others in mind; nor of keys that were forgotten', async () => {
    const { see, told } = watched({ most: 100 });
    const { limiter: used } = limiter();
    see(await used.check('monthly', 'often', { cost: 85 }));
    see(await used.check('monthly', 'seldom', { cost: 85 }));
    for (let i = 0; i < 1000; i += 1) {
      see(await used.check('monthly', `customer ${i}`));
      if (i % 90 === 0) see(await used.check('monthly', 'often'));
    }
    see(await used.check('monthly', 'seldom'));
    expect(told()).toEqual([
      ['often', 80, 85],
      ['seldom', 80, 85],
    ]);
  });

  it('is told of once of a key that is long, and of each of two that differ at their end', async () => {
    const { see, events } = watched();
    const { limiter: used } = limiter();
    const keys = ['a', 'b'].map((end) => 'x'.repeat(10_000) + end);
    for (let i = 0; i < 2; i += 1) for (const key of keys) see(await used.check('monthly', key, { cost: 45 }));
    for (const key of keys) see(await used.check('monthly', key));
    expect(events.map(({ key }) => key)).toEqual(keys);
  });

  it('has an id by which nobody without the secret finds the key', async () => {
    const { limiter: used } = limiter();
    const decision = await used.check('monthly', 'customer7', { cost: 80 });
    const ids = ['one secret', 'another one', 'one secret'].map((secret) => {
      const { events, see } = watched({ secret });
      see(decision);
      return events[0]?.id;
    });
    expect(ids[0]).toMatch(/^[\w-]{43}$/);
    expect(ids[0]).not.toBe(ids[1]);
    expect(ids[0]).toBe(ids[2]);
  });

  it('and counted locally, is told of once though its decisions skip numbers', async () => {
    const { events, see } = watched();
    const { limiter: used } = limiter();
    const decision = await used.check('monthly', 'customer7', { cost: 85 });
    for (const remaining of [15, 12, 9]) see({ ...decision, cost: 1, remaining, source: 'lease' } as Decision);
    expect(events.map(({ percent, used: units }) => [percent, units])).toEqual([[80, 85]]);
  });

  it('and counted by several servers with units taken in advance, is told of by each at most once, and by some', async () => {
    const { limiter: used } = limiter();
    const servers = Array.from({ length: 4 }, () => watched({ countsLocally: () => true }));
    // Each takes seven in advance, so that no decision crosses by its own cost.
    for (let taken = 0; taken < 100; taken += 7) {
      const { see } = servers[(taken / 7) % 4] ?? watched();
      const decision = await used.check('monthly', 'customer7', { cost: Math.min(7, 100 - taken) });
      for (let i = 0; i < 3; i += 1) see({ ...decision, cost: 1, source: i === 0 ? 'store' : 'lease' } as Decision);
    }
    expect(new Set(servers.flatMap(({ events }) => events.map(({ id }) => id))).size).toBe(2);
    for (const { events } of servers) expect(new Set(events.map(({ percent }) => percent)).size).toBe(events.length);
  });
});
