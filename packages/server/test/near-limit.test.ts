import { describe, expect, it } from 'vitest';
import { createLimiter, quota } from 'headgate';
import { fakeClock } from 'headgate/testing';
import { memoryStore, type Decision } from 'headgate';
import { nearLimits, type NearLimit } from '../src/usecases/near-limit.js';

function watched() {
  const events: NearLimit[] = [];
  return { events, see: nearLimits((event) => events.push(event)) };
}

const monthly = quota({ limit: 100, period: 'month' });

function limiter() {
  const clock = fakeClock();
  return { clock, limiter: createLimiter({ store: memoryStore({ clock }), rules: { monthly: { limit: monthly } }, clock }) };
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

  it('is not told of by refusals, nor by decisions without the store', async () => {
    const { events, see } = watched();
    const { limiter: used } = limiter();
    const allowed = await used.check('monthly', 'customer7', { cost: 80 });
    see({ ...allowed, degraded: true } as Decision);
    see(await used.check('monthly', 'customer7', { cost: 30 }));
    expect(events).toEqual([]);
  });

  it('and counted locally, is told of once though its decisions skip numbers', async () => {
    const { events, see } = watched();
    const { limiter: used } = limiter();
    const decision = await used.check('monthly', 'customer7', { cost: 85 });
    for (const remaining of [15, 12, 9]) see({ ...decision, cost: 1, remaining, source: 'lease' } as Decision);
    expect(events.map(({ percent, used: units }) => [percent, units])).toEqual([[80, 85]]);
  });
});
