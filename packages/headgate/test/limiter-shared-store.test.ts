import { describe, expect, it } from 'vitest';
import { concurrency, fixedWindow, quota, slidingLog, slidingWindow, tokenBucket } from '../src/index.js';
import type { Decision, PortableReceipt } from '../src/index.js';
import { passing } from './support/limiters.js';
import { deployments } from './support/two-limiters.js';

const perHour = (limit: number) => fixedWindow({ limit, window: '1h', from: 'first-request' });

const { each, client } = deployments();

describe.each(each)('two limiters over one store %s', (_name, two) => {
  const kinds = [
    ['a bucket', tokenBucket({ capacity: 5, refill: '5/d' })],
    ['a window', perHour(5)],
    ['a sliding window', slidingWindow({ limit: 5, window: '365d' })],
    ['a log', slidingLog({ limit: 5, window: '1h' })],
    ['a quota', quota({ limit: 5, period: 'year' })],
  ] as const;

  it.each(kinds)(
    'five reservations of %s are in flight, a sixth is refused, all five cancel, and the next passes on both',
    async (_kind, limit) => {
      const [a, b] = two({ otp: { limit } });
      const reserved = await Promise.all([a, b, a, b, a].map((limiter) => limiter.reserve('otp', 'key')));
      expect(reserved.map(({ allowed }) => allowed)).toEqual([true, true, true, true, true]);
      const sixth = await b.reserve('otp', 'key');
      expect(sixth).toMatchObject({ allowed: false, decision: { reason: 'limited', remaining: 0 } });
      expect(await sixth.cancel()).toEqual({ returned: 0, charged: 0 });
      for (const { returned, charged } of await Promise.all(reserved.map(({ cancel }) => cancel()))) {
        expect(returned).toBeCloseTo(1, 2);
        expect(charged).toBe(0);
      }
      expect((await a.check('otp', 'key')).allowed).toBe(true);
      expect((await b.check('otp', 'key')).allowed).toBe(true);
      expect(await Promise.all(reserved.map(({ cancel }) => cancel()))).toEqual(reserved.map(() => ({ returned: 0, charged: 0 })));
    },
  );

  it.each(kinds)('of %s a reservation of all that is settled for less leaves the rest', async (_kind, limit) => {
    const [a, b] = two({ tokens: { limit } });
    const reserved = await a.reserve('tokens', 'key', { cost: 5 });
    const { returned, charged } = await reserved.settle(2);
    expect([Math.round(returned * 100) / 100, charged]).toEqual([3, 0]);
    expect(await b.peek('tokens', 'key')).toMatchObject({ allowed: true });
    expect(await b.check('tokens', 'key', { cost: 4 })).toMatchObject({ allowed: false });
    // A bucket may return a little less, for what has flowed back by itself.
    expect(await passing(3, () => b.check('tokens', 'key'))).toBeGreaterThanOrEqual(2);
  });

  it('settled for more it charges the difference, into debt; never settled it stays charged', async () => {
    const [a, b] = two({ tokens: { limit: tokenBucket({ capacity: 100, refill: '100/m' }) }, window: { limit: perHour(10) } });
    const large = await a.reserve('tokens', 'key', { cost: 100 });
    expect(await large.settle(250)).toEqual({ returned: 0, charged: 150 });
    const refused = await b.check('tokens', 'key');
    expect(refused).toMatchObject({ allowed: false, remaining: 0 });
    expect(refused.retryAfterMs).toBeGreaterThan(60_000);
    expect(refused.retryAfterMs).toBeLessThanOrEqual(90_600);
    await a.reserve('window', 'key', { cost: 10 });
    expect(await b.check('window', 'key')).toMatchObject({ allowed: false });
    const exact = await a.reserve('window', 'other', { cost: 10 });
    expect(await exact.settle(10)).toEqual({ returned: 0, charged: 0 });
  });

  it('a refund counts once, of a group gives back each part, and of a copy is a TypeError', async () => {
    const [a, b] = two({
      first: { limit: perHour(10) },
      second: { limit: perHour(20) },
      jobs: { limit: concurrency({ limit: 1, expires: '1h' }) },
    });
    const taken = await a.check('first', 'key', { cost: 4 });
    expect(await Promise.all([a.refund(taken), a.refund(taken), b.refund(taken)])).toEqual([4, 0, 0]);
    expect(await b.peek('first', 'key')).toMatchObject({ remaining: 10 });
    const group = await a.checkAll([
      { rule: 'first', key: 'key', cost: 3 },
      { rule: 'second', key: 'key', cost: 5 },
      { rule: 'jobs', key: 'key' },
    ]);
    expect(await a.refund(group)).toBe(9);
    expect(await a.refund(group)).toBe(0);
    expect(await b.peek('second', 'key')).toMatchObject({ remaining: 20 });
    expect(await b.peek('jobs', 'key')).toMatchObject({ remaining: 1 });
    await expect(a.refund({ ...taken })).rejects.toThrow(TypeError);
    await expect(a.refund(JSON.parse(JSON.stringify(taken)) as Decision)).rejects.toMatchObject({ code: 'HEADGATE_BAD_CALL' });
  });

  it('a receipt may travel, and counts once over all of them', async () => {
    const [a, b] = two({ api: { limit: perHour(10), plans: { pro: perHour(100) } } });
    const taken = await a.check('api', 'key', { cost: 4, plan: 'pro' });
    const receipt = a.receipt(taken);
    expect(receipt).toMatchObject({ rule: 'api', key: 'key', taken: 4, plan: 'pro', degraded: false });
    expect(a.receipt(taken)).toEqual(receipt);
    const travelled = JSON.parse(JSON.stringify(receipt)) as PortableReceipt;
    const given = await Promise.all([a.refund(travelled), b.refund(travelled), a.refund(taken)]);
    expect(given.sort()).toEqual([0, 0, 4]);
    expect(await a.peek('api', 'key')).toMatchObject({ remaining: 10 });
    expect(a.receipt(taken)).toBeUndefined();
  });

  it('a receipt that is settled for more charges once over all of them', async () => {
    const [a, b] = two({ api: { limit: perHour(10) } });
    const receipt = a.receipt(await a.check('api', 'key', { cost: 2 }));
    if (receipt === undefined) throw new Error('nothing was taken');
    const settled = await Promise.all([a.settle(receipt, 5), b.settle({ ...receipt }, 5)]);
    expect(settled.map(({ charged }) => charged).sort()).toEqual([0, 3]);
    expect(await b.settle(receipt, 0)).toEqual({ returned: 0, charged: 0 });
    expect(await b.peek('api', 'key')).toMatchObject({ remaining: 5 });
  });

  it('a holder is extended and released by whoever has its receipt', async () => {
    const [a, b] = two({ jobs: { limit: concurrency({ limit: 1, expires: '1h' }) } });
    const held = await a.check('jobs', 'key');
    const receipt = a.receipt(held);
    if (receipt === undefined) throw new Error('nothing was taken');
    expect(await b.check('jobs', 'key')).toMatchObject({ allowed: false });
    expect(await b.extend(receipt)).toBe(true);
    expect(await b.release(receipt)).toBe(true);
    expect([await b.release(receipt), await a.release(held), await a.extend(held)]).toEqual([false, false, false]);
    expect(await b.check('jobs', 'key')).toMatchObject({ allowed: true });
  });

  it('acquire takes turns over both of them', async () => {
    const [a, b] = two({ turns: { limit: tokenBucket({ capacity: 1, refill: '20/s' }) } });
    const order: number[] = [];
    const limiters = [a, b, a, b];
    const began = performance.now();
    for (const [index, limiter] of limiters.entries()) {
      const asked = limiter.acquire('turns', 'key', { maxWait: '10s' });
      void asked.then(({ allowed }) => allowed && order.push(index));
      // The next is asked only after this turn is taken: a peek is decided after it.
      await limiter.peek('turns', 'key');
    }
    await expect.poll(() => order.length, { interval: 2 }).toBe(4);
    expect(order).toEqual([0, 1, 2, 3]);
    expect(performance.now() - began).toBeGreaterThan(145);
    const stop = new AbortController();
    const reason = new Error('gone');
    const aborted = a.acquire('turns', 'aborted', { maxWait: '10s', signal: stop.signal });
    stop.abort(reason);
    await expect(aborted).rejects.toBe(reason);
    expect(await b.check('turns', 'aborted')).toMatchObject({ allowed: true });
  });

  it('ban, unban and reset on one are in force on the other', async () => {
    const [a, b] = two({ api: { limit: perHour(3), plans: { pro: tokenBucket({ capacity: 9, refill: '1/d' }) } } });
    await a.check('api', 'key', { cost: 3 });
    await a.ban('api', 'key', '1h');
    const banned = await b.check('api', 'key', { plan: 'pro' });
    expect(banned).toMatchObject({ allowed: false, reason: 'banned', remaining: 0 });
    expect(banned.retryAfterMs).toBeGreaterThan(3_590_000);
    expect(banned.retryAfterMs).toBeLessThanOrEqual(3_600_000);
    await b.unban('api', 'key');
    expect(await a.check('api', 'key')).toMatchObject({ allowed: false, reason: 'limited' });
    await b.reset('api', 'key');
    // What a has noted is believed for a second at most.
    await expect.poll(() => a.check('api', 'key'), { timeout: 1500 }).toMatchObject({ allowed: true, remaining: 2 });
  });

  it('closed, it rejects every verb, twice closed is closed, and the other goes on unless they share the store', async () => {
    const [a, b] = two({ api: { limit: perHour(3) } });
    await b.ready();
    const taken = await a.check('api', 'key');
    await Promise.all([a.close(), a.close()]);
    await expect(a.check('api', 'key')).rejects.toMatchObject({ code: 'HEADGATE_CLOSED' });
    expect(await a.refund(taken)).toBe(0);
    if (_name === 'in Redis') {
      expect(await b.check('api', 'key')).toMatchObject({ allowed: true, degraded: false });
      expect(await client().ping()).toBe('PONG');
    }
  });
});
