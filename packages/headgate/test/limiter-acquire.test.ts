import { describe, expect, it } from 'vitest';
import { concurrency, createLimiter, fixedWindow, tokenBucket } from '../src/index.js';
import { turn, withClock } from './support/limiters.js';

/** Whether a promise has settled, without waiting for it. */
function watch<T>(promise: Promise<T>): { done: boolean; promise: Promise<T> } {
  const watched = { done: false, promise };
  const settle = (): void => void (watched.done = true);
  promise.then(settle, settle);
  return watched;
}

describe('acquire on a bucket', () => {
  const rules = { turns: { limit: tokenBucket({ capacity: 1, refill: '1/s' }) } };
  const acquire = (limiter: ReturnType<typeof withClock<'turns'>>['limiter'], more?: { signal?: AbortSignal; maxWait?: '500ms' | '10s' }) =>
    watch(limiter.acquire('turns', 'key', { maxWait: '10s', ...more }));

  it('gives turns in the order asked, each as soon as it comes', async () => {
    const { limiter, seconds } = withClock(rules);
    const turns = [1, 2, 3, 4].map(() => acquire(limiter));
    await seconds(0.999);
    expect(turns.map(({ done }) => done)).toEqual([true, false, false, false]);
    await seconds(0.001);
    expect(turns.map(({ done }) => done)).toEqual([true, true, false, false]);
    await seconds(1);
    expect(turns.map(({ done }) => done)).toEqual([true, true, true, false]);
    await seconds(1);
    expect((await Promise.all(turns.map(({ promise }) => promise))).map(({ allowed, retryAfterMs }) => [allowed, retryAfterMs])).toEqual(
      turns.map(() => [true, 0]),
    );
    expect(await limiter.check('turns', 'key')).toMatchObject({ allowed: false, retryAfterMs: 1000 });
  });

  it('over two limiters of one store the turns follow each other', async () => {
    const { limiter, store, clock, seconds } = withClock(rules);
    const other = createLimiter({ store, clock, rules });
    const turns = [limiter, other, limiter, other].map((which) => acquire(which));
    for (let passed = 1; passed <= 4; passed += 1) {
      await turn();
      expect(turns.filter(({ done }) => done)).toHaveLength(passed);
      await seconds(1);
    }
  });

  it('refuses at once if the turn comes later than it would wait, and takes nothing', async () => {
    const { limiter, seconds } = withClock(rules);
    await limiter.check('turns', 'key');
    const late = acquire(limiter, { maxWait: '500ms' });
    await turn();
    expect(late.done).toBe(true);
    expect(await late.promise).toMatchObject({ allowed: false, reason: 'limited', retryAfterMs: 1000 });
    await seconds(1);
    expect(await limiter.check('turns', 'key')).toMatchObject({ allowed: true });
    expect(await limiter.acquire('turns', 'key', { maxWait: '10s', cost: 2 })).toMatchObject({
      allowed: false,
      reason: 'cost-above-limit',
    });
  });

  it('an abort rejects with its reason and gives the turn back', async () => {
    const { limiter, seconds } = withClock(rules);
    await limiter.check('turns', 'key');
    const stop = new AbortController();
    const aborted = acquire(limiter, { signal: stop.signal });
    await turn();
    stop.abort(new Error('the client went away'));
    await expect(aborted.promise).rejects.toThrow('the client went away');
    const next = acquire(limiter);
    await seconds(1);
    expect(next.done).toBe(true);
  });

  it('an abort of a turn that others wait behind gives nothing back, so that no two pass at one instant', async () => {
    const { limiter, seconds } = withClock(rules);
    await limiter.check('turns', 'key');
    const stop = new AbortController();
    const aborted = acquire(limiter, { signal: stop.signal });
    await turn();
    const behind = acquire(limiter);
    await turn();
    stop.abort(new Error('the client went away'));
    await expect(aborted.promise).rejects.toThrow('the client went away');
    const next = acquire(limiter);
    await turn();
    await seconds(2);
    expect([behind.done, next.done]).toEqual([true, false]);
    await seconds(1);
    expect(next.done).toBe(true);
  });

  it('aborted before it asked takes nothing', async () => {
    const { limiter } = withClock(rules);
    const reason = new Error('too late');
    await expect(limiter.acquire('turns', 'key', { maxWait: '10s', signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(await limiter.peek('turns', 'key')).toMatchObject({ remaining: 1 });
  });
});

describe('acquire on other limits', () => {
  it('waits for the window to end and asks again', async () => {
    const { limiter, seconds } = withClock({ window: { limit: fixedWindow({ limit: 2, window: '10s' }) } });
    expect(await limiter.acquire('window', 'key', { cost: 2, maxWait: '1s' })).toMatchObject({ allowed: true });
    const waiting = watch(limiter.acquire('window', 'key', { maxWait: '15s' }));
    await seconds(9.999);
    expect(waiting.done).toBe(false);
    await seconds(0.1);
    expect(waiting.done).toBe(true);
    expect(await waiting.promise).toMatchObject({ allowed: true, remaining: 1 });
  });

  it('refuses at once if that is too long, and takes nothing', async () => {
    const { limiter } = withClock({ window: { limit: fixedWindow({ limit: 2, window: '10s' }) } });
    await limiter.check('window', 'key', { cost: 2 });
    expect(await limiter.acquire('window', 'key', { maxWait: '9s' })).toMatchObject({ allowed: false, retryAfterMs: 10_000 });
    expect(await limiter.acquire('window', 'key', { maxWait: '24d', cost: 3 })).toMatchObject({
      allowed: false,
      reason: 'cost-above-limit',
    });
  });

  it('waits for a holder that goes when its time is over, and an abort ends the waiting', async () => {
    const { limiter, seconds } = withClock({ jobs: { limit: concurrency({ limit: 1, expires: '5s' }) } });
    await limiter.check('jobs', 'key');
    const stop = new AbortController();
    const aborted = watch(limiter.acquire('jobs', 'key', { maxWait: '1m', signal: stop.signal }));
    const waiting = watch(limiter.acquire('jobs', 'key', { maxWait: '1m' }));
    await turn();
    stop.abort();
    await expect(aborted.promise).rejects.toMatchObject({ name: 'AbortError' });
    expect(waiting.done).toBe(false);
    await seconds(5.1);
    expect(await waiting.promise).toMatchObject({ allowed: true });
  });
});
