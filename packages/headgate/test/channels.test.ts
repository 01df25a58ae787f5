import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { createLimiter, fixedWindow, memoryStore, unlimited } from '../src/index.js';
import type { ChannelMessages, Store } from '../src/index.js';
import { fakeClock } from '../src/testing/index.js';
import { withClock } from './support/limiters.js';
import { partner } from './support/partner.js';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

function hear<C extends keyof ChannelMessages>(name: C): ChannelMessages[C][] {
  const heard: ChannelMessages[C][] = [];
  const listen = (message: unknown): void => void heard.push(message as ChannelMessages[C]);
  subscribe(name, listen);
  ends.push(() => void unsubscribe(name, listen));
  return heard;
}

const limit = fixedWindow({ limit: 2, window: '1m' });
const rules = { api: { limit }, shadow: { limit, shadow: true }, free: { limit: unlimited() } };

describe('headgate:decision', () => {
  it('tells of each decision, with its key only for who asks for it by name', async () => {
    const { limiter } = withClock(rules);
    const heard = hear('headgate:decision');
    const decision = await limiter.check('api', 'ada@example.com', { cost: 2 });
    await limiter.check('api', 'ada@example.com');
    expect(heard).toHaveLength(2);
    expect({ ...heard[0] }).toEqual({
      ...{ rule: 'api', allowed: true, reason: 'ok', source: 'store', degraded: false, cost: 2, limit: 2, remaining: 0 },
      ...{ retryAfterMs: 0, shadow: false, wouldAllow: true, granted: true },
    });
    expect(heard[1]).toMatchObject({ allowed: false, reason: 'limited', granted: false, retryAfterMs: 60_000 });
    expect(JSON.stringify(heard) + inspect(heard, { depth: 9, showHidden: true })).not.toContain('ada');
    expect(heard[0]?.decision).toBe(decision);
  });

  it('tells of every verb that decides, of each check of a group, and not of a look', async () => {
    const { limiter } = withClock(rules);
    const heard = hear('headgate:decision');
    await limiter.peek('api', 'key');
    await limiter.reserve('api', 'key');
    await limiter.acquire('api', 'key', { maxWait: '1s' });
    await limiter.check('free', 'key');
    await limiter.check('shadow', 'key', { cost: 3 });
    const refused = await limiter.checkAll([
      { rule: 'api', key: 'other' },
      { rule: 'api', key: 'key' },
    ]);
    expect(refused.allowed).toBe(false);
    expect(heard.map(({ rule, allowed, wouldAllow, granted }) => [rule, allowed, wouldAllow, granted])).toEqual([
      ['api', true, true, true],
      ['api', true, true, true],
      ['free', true, true, true],
      ['shadow', true, false, true],
      ['api', true, true, false],
      ['api', false, false, false],
    ]);
  });

  it('makes nothing where nobody listens', async () => {
    const { limiter } = withClock(rules);
    expect(channel('headgate:decision').hasSubscribers).toBe(false);
    await limiter.check('api', 'key');
    const heard = hear('headgate:decision');
    for (const end of ends.splice(0)) end();
    await limiter.check('api', 'key');
    expect(heard).toEqual([]);
  });
});

describe('headgate:event', () => {
  it('tells what onEvent is told', async () => {
    const heard = hear('headgate:event');
    const told: unknown[] = [];
    const clock = fakeClock();
    const away = { ...memoryStore({ clock }), local: undefined, decide: () => Promise.reject(new Error('away')) };
    const limiter = createLimiter({
      ...{ rules, clock, fleetSize: 1, onEvent: (event) => void told.push(event) },
      store: away as unknown as Store,
    });
    for (let i = 0; i < 30; i += 1) await limiter.check('api', 'key', { cost: 1 });
    expect(heard).toMatchObject([{ type: 'unavailable' }]);
    expect(told).toEqual(heard);
    await limiter.close();
  });
});

describe('headgate:fetch', () => {
  it('tells of each time that a call was sent or was not, without URL and key', async () => {
    const { url } = await partner({ status: 429, headers: { 'retry-after': '7' } }, 'hangup');
    const { limiter, clock } = withClock({ partner: { limit: fixedWindow({ limit: 3, window: '1d' }) } });
    const heard = hear('headgate:fetch');
    await limiter.fetch('partner', 'ada', { retries: 0 })(url);
    clock.advance(7_000_000);
    await expect(limiter.fetch('partner', 'ada')(url)).rejects.toThrow('fetch failed');
    await expect(limiter.fetch('partner', 'ada', { cost: 2 })(url)).rejects.toMatchObject({ code: 'HEADGATE_NO_TURN' });
    const none = { waitedMs: 0, status: undefined, heldMs: 0 };
    expect(heard).toEqual([
      { rule: 'partner', attempt: 0, waitedMs: 0, tookMs: 0, status: 429, heldMs: 7000 },
      { rule: 'partner', attempt: 0, ...none, tookMs: 0 },
      { rule: 'partner', attempt: 0, ...none, tookMs: undefined },
    ]);
  });
});
