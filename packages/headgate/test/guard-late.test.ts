import { describe, expect, it } from 'vitest';
import { fixedWindow, StoreError, type GroupOutcome, type Ticket } from '../src/index.js';
import { guard } from '../src/layers/guard.js';
import { fakeClock } from '../src/testing/index.js';
import { faultyStore } from './support/faulty-store.js';
import { turn } from './support/limiters.js';

const limit = fixedWindow({ limit: 10, window: '1d' });
const group = { checks: [{ rule: 'api', key: 'key', limit, cost: 4, whenUnavailable: 'local' as const }] };

function guarded() {
  const clock = fakeClock();
  const faulty = faultyStore(clock);
  const store = guard({
    store: faulty.store,
    deadlineMs: 5,
    fleetSize: () => 1,
    clock,
    onChange: () => undefined,
    hear: (_group, answer) => answer,
    onLost: () => undefined,
  });
  return { store, faulty };
}

/** A ticket of somebody who decides for himself while the store is away. */
function mine() {
  const told: GroupOutcome[] = [];
  const ticket: Ticket = { cancelled: false, sent: false, late: (answer) => told.push(answer) };
  return { ticket, told };
}

describe('who decides for himself while the store is away', () => {
  it('gets the store’s own error, and knows whether the call was sent', async () => {
    const { store, faulty } = guarded();
    const failed = mine();
    faulty.goes('fail');
    await expect(store.decide(group, failed.ticket)).rejects.toThrow('away');
    expect(failed.ticket.sent).toBe(false);
    const lost = mine();
    faulty.goes('lose');
    await expect(store.decide(group, lost.ticket)).rejects.toThrow('connection lost');
    expect(lost.ticket.sent).toBe(true);
    expect(store.owing()).toBe(0);
  });

  it('is told of an answer that comes after the deadline, which is neither undone nor charged', async () => {
    const { store, faulty } = guarded();
    const { ticket, told } = mine();
    faulty.goes('hold');
    await expect(store.decide(group, ticket)).rejects.toThrow(StoreError);
    expect(ticket.sent).toBe(true);
    expect(told).toEqual([]);
    faulty.release();
    await turn();
    expect(told).toMatchObject([{ allowed: true, outcomes: [{ taken: 4, remaining: 6 }] }]);
    expect([faulty.returned, store.owing()]).toEqual([[], 0]);
  });

  it('is rejected at once while the store is left alone', async () => {
    const { store, faulty } = guarded();
    faulty.goes('fail');
    for (let i = 0; i < 10; i += 1) await store.decide(group).catch(() => undefined);
    faulty.asked();
    await expect(store.decide(group, mine().ticket)).rejects.toThrow('not asked for now');
    expect(faulty.asked()).toEqual([]);
  });
});

describe('a check whose caller has waited elsewhere until the deadline', () => {
  it('is decided without the store, which is not asked', async () => {
    const { store, faulty } = guarded();
    const answer = await store.decide(group, { cancelled: false, sent: false, since: performance.now() - 6 });
    expect(answer).toMatchObject({ allowed: true, source: 'fallback', degraded: true });
    expect(faulty.asked()).toEqual([]);
    expect(store.owing()).toBe(1);
  });
});

describe('a store of somebody’s own that answers with no outcome', () => {
  it.each([[[null]], [[{}]], [['yes']]])('%j is as good as no answer', async (outcomes) => {
    const { store, faulty } = guarded();
    const answer = { now: 1, allowed: true, outcomes, source: 'store', degraded: false } as unknown as GroupOutcome;
    Object.assign(faulty.store, { decide: async () => answer });
    expect(await store.decide(group)).toMatchObject({ degraded: true, source: 'fallback' });
  });
});
