import { describe, expect, it } from 'vitest';
import { concurrency, createLimiter, fixedWindow, memoryStore, OutboundError, tokenBucket, unlimited } from '../src/index.js';
import type { OutboundOptions } from '../src/index.js';
import { fakeClock } from '../src/testing/index.js';
import { withClock } from './support/limiters.js';
import { nobody, partner, until } from './support/partner.js';
import { deployments } from './support/two-limiters.js';

const rules = { partner: { limit: tokenBucket({ capacity: 3, refill: '1/s' }) } };
const refusing = (headers: Record<string, string>, status = 429) => ({ status, headers });

/** Whether a promise has settled, without waiting for it. */
function watch<T>(promise: Promise<T>): { done: boolean; promise: Promise<T> } {
  const watched = { done: false, promise };
  const settle = (): void => void (watched.done = true);
  promise.then(settle, settle);
  return watched;
}

/** Time for whatever could wrongly happen over a connection. */
const aMoment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));

/** Moves the clock on, step by step, until a call has settled. */
async function passing(clock: ReturnType<typeof fakeClock>, call: { done: boolean }): Promise<number> {
  const start = clock.nowUs();
  await until(() => {
    if (!call.done) clock.advance(100_000);
    return call.done;
  });
  return (clock.nowUs() - start) / 1_000_000;
}

function setUp(options?: OutboundOptions) {
  const made = withClock(rules);
  return { ...made, call: made.limiter.fetch('partner', 'acme', options) };
}

describe('a call to a partner', () => {
  it('is made as fetch makes it, and takes its cost', async () => {
    const { url, asked } = await partner();
    const { limiter, call } = setUp({ cost: 2 });
    const response = await call(new URL(url), { method: 'POST', body: 'order', headers: { 'x-id': '7' } });
    expect([response.status, await response.text()]).toEqual([200, 'answer']);
    expect(asked).toMatchObject([{ method: 'POST', body: 'order', headers: { 'x-id': '7' } }]);
    expect(await limiter.peek('partner', 'acme')).toMatchObject({ remaining: 1 });
    const request = new Request(url, { method: 'PUT', body: 'text' });
    const lax = limiter.fetch('partner', 'acme');
    await lax(request);
    expect(asked[1]).toMatchObject({ method: 'PUT', body: 'text' });
  });

  it('waits for its turn, in the order asked', async () => {
    const { url, asked } = await partner();
    const { call, clock } = setUp();
    const calls = [1, 2, 3, 4, 5].map((n) => watch(call(`${url}${n}`)));
    await until(() => asked.length === 3);
    await aMoment();
    expect(asked).toHaveLength(3);
    clock.advance(1_000_000);
    await until(() => asked.length === 4);
    clock.advance(1_000_000);
    expect((await Promise.all(calls.map(({ promise }) => promise))).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });

  it('is not sent if its turn comes later than it would wait: an error that tells, and nothing stays taken', async () => {
    const { url, asked } = await partner();
    const { limiter, call } = setUp({ maxWait: '500ms', cost: 3 });
    await call(url);
    const error: unknown = await call(url).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(OutboundError);
    expect(error).toMatchObject({ code: 'HEADGATE_NO_TURN', decision: { allowed: false, reason: 'limited', retryAfterMs: 3000 } });
    expect(String(error)).not.toContain('acme');
    expect(asked).toHaveLength(1);
    await expect(limiter.fetch('partner', 'acme', { cost: 4 })(url)).rejects.toMatchObject({ decision: { reason: 'cost-above-limit' } });
    expect(await limiter.peek('partner', 'acme')).toMatchObject({ remaining: 0, retryAfterMs: 1000 });
  });

  it('of any kind of limit waits for its turn', async () => {
    const { url, asked } = await partner();
    const { limiter, clock } = withClock({ window: { limit: fixedWindow({ limit: 1, window: '10s' }) }, free: { limit: unlimited() } });
    await limiter.fetch('window', 'acme')(url);
    expect(await passing(clock, watch(limiter.fetch('window', 'acme')(url)))).toBeCloseTo(10, 0);
    await limiter.fetch('free', 'acme')(url);
    expect(asked).toHaveLength(3);
  });

  it('rejects with the reason of its signal, and gives its turn back if it was not sent', async () => {
    const { url, asked } = await partner('silence');
    const { limiter, call } = setUp();
    const stop = new AbortController();
    const sent = call(url, { signal: stop.signal });
    await until(() => asked.length === 1);
    await limiter.check('partner', 'acme', { cost: 2 });
    const waiting = call(new Request(url, { signal: stop.signal }));
    await aMoment();
    stop.abort(new Error('the user left'));
    await expect(sent).rejects.toThrow('the user left');
    await expect(waiting).rejects.toThrow('the user left');
    await expect(call(url, { signal: stop.signal })).rejects.toThrow('the user left');
    expect(asked).toHaveLength(1);
    expect(await limiter.peek('partner', 'acme')).toMatchObject({ remaining: 0, retryAfterMs: 1000 });
  });

  it('ends at its deadline, and says that it may have been carried out', async () => {
    const { url, asked } = await partner('silence');
    const { call, clock, limiter } = setUp({ deadline: '5s' });
    const late = call(url);
    await until(() => asked.length === 1);
    clock.advance(5_000_000);
    await expect(late).rejects.toMatchObject({ name: 'OutboundError', code: 'HEADGATE_DEADLINE', decision: { allowed: true } });
    expect(await limiter.peek('partner', 'acme')).toMatchObject({ remaining: 3 });
  });

  it('is over with the head of its answer: the body may take longer than the deadline', async () => {
    const { url } = await partner();
    const { call, clock } = setUp({ deadline: '5s' });
    const response = await call(url);
    clock.advance(60_000_000);
    expect(await response.text()).toBe('answer');
  });

  it('that reached nobody gives its units back, one that may have arrived does not', async () => {
    const gone = await partner('hangup');
    const { limiter, call } = setUp();
    await expect(call(gone.url)).rejects.toThrow('fetch failed');
    expect(gone.asked).toHaveLength(1);
    expect(await limiter.peek('partner', 'acme')).toMatchObject({ remaining: 2 });
    await expect(call('http://127.0.0.1:1/')).rejects.toThrow('fetch failed');
    await expect(call(await nobody())).rejects.toThrow('fetch failed');
    await expect(call('http://no-such-host.invalid/')).rejects.toThrow('fetch failed');
    expect(await limiter.peek('partner', 'acme')).toMatchObject({ remaining: 2 });
  });

  it('that fetch could not make takes nothing', async () => {
    const { url, asked } = await partner();
    const { limiter, call } = setUp();
    await expect(call('no url')).rejects.toThrow(TypeError);
    await expect(call(url, { method: 'GET', body: 'text' })).rejects.toThrow(TypeError);
    await expect(call(url, { method: 'POST', body: new ReadableStream() })).rejects.toThrow(TypeError);
    await expect(call(url, { headers: { 'bad name': '1' } })).rejects.toThrow(TypeError);
    expect(asked).toHaveLength(0);
    expect(await limiter.peek('partner', 'acme')).toMatchObject({ remaining: 3 });
  });
});

describe('an answer that says to wait', () => {
  it('is sent again when its time has come, and holds back all callers of its key until then', async () => {
    const { url, asked } = await partner(refusing({ 'retry-after': '5' }));
    const { limiter, call, clock } = setUp();
    const first = watch(call(url, { method: 'POST', body: 'order' }));
    await until(() => asked.length === 1);
    await expect.poll(async () => (await limiter.peek('partner', 'acme')).reason, { timeout: 20_000 }).toBe('banned');
    expect(await limiter.peek('partner', 'acme')).toMatchObject({ allowed: false, retryAfterMs: 5000 });
    expect(await limiter.peek('partner', 'other')).toMatchObject({ allowed: true });
    const second = watch(call(url));
    const impatient = limiter.fetch('partner', 'acme', { maxWait: '1s' })(url);
    await expect(impatient).rejects.toMatchObject({ code: 'HEADGATE_NO_TURN', decision: { reason: 'banned' } });
    clock.advance(4_900_000);
    await aMoment();
    expect([first.done, second.done, asked.length]).toEqual([false, false, 1]);
    await passing(clock, first);
    await passing(clock, second);
    expect((await first.promise).status).toBe(200);
    expect(asked.map(({ method, body }) => [method, body]).sort()).toEqual([
      ['GET', ''],
      ['POST', 'order'],
      ['POST', 'order'],
    ]);
  });

  it('reaches those too that had a turn already, and wait for it', async () => {
    const { url, asked } = await partner(refusing({ 'retry-after': '20' }, 400));
    const { limiter, call, clock } = setUp();
    await limiter.check('partner', 'acme', { cost: 2 });
    const [first, waiting] = [watch(call(url)), watch(call(url))];
    await until(() => first.done);
    clock.advance(1_500_000);
    await aMoment();
    expect([waiting.done, asked.length]).toEqual([false, 1]);
    expect(await passing(clock, waiting)).toBeGreaterThan(18);
    expect(asked).toHaveLength(2);
  });

  it('of a success that leaves nothing holds back the next', async () => {
    const { url, asked } = await partner({ status: 200, headers: { RateLimit: '"burst";r=0;t=9' } });
    const { call, clock } = setUp();
    await call(url);
    const next = watch(call(url));
    await aMoment();
    expect(asked).toHaveLength(1);
    expect(await passing(clock, next)).toBeGreaterThan(8.9);
  });

  it('holds back for maxHold at most, whatever it says', async () => {
    const { url } = await partner(refusing({ 'retry-after': '999999999' }));
    const { limiter, call } = setUp({ maxHold: '30s' });
    expect((await call(url)).status).toBe(429);
    expect(await limiter.peek('partner', 'acme')).toMatchObject({ reason: 'banned', retryAfterMs: 30_000 });
  });

  it('shortens no ban that is longer, of an operator or of another answer', async () => {
    const { url } = await partner(...['60', '2', '50'].map((seconds) => refusing({ 'retry-after': seconds })));
    const { limiter, call } = setUp({ deadline: '1s' });
    await Promise.all([call(url), call(url), call(url)]);
    expect(await limiter.peek('partner', 'acme')).toMatchObject({ reason: 'banned', retryAfterMs: 60_000 });
    const other = await partner(refusing({ 'retry-after': '2' }));
    const { limiter: fresh, clock } = withClock(rules);
    const send: typeof fetch = async (...args) => {
      await fresh.ban('partner', 'acme', '1h');
      return fetch(...args);
    };
    await fresh.fetch('partner', 'acme', { fetch: send, retries: 0 })(other.url);
    clock.advance(1_000_000);
    expect(await fresh.peek('partner', 'acme')).toMatchObject({ reason: 'banned', retryAfterMs: 3_599_000 });
  });

  it('is given to its caller by the deadline, also while the store hangs that should hold back the others', async () => {
    const clock = fakeClock();
    const store = { ...memoryStore({ clock }), ban: () => new Promise<void>(() => undefined) };
    const limiter = createLimiter({ store, clock, rules: { partner: { limit: tokenBucket({ capacity: 20, refill: '1/s' }) } } });
    const { url } = await partner(...Array.from({ length: 10 }, () => refusing({ 'retry-after': '60' })));
    let answered = 0;
    const counting: typeof fetch = (...args) => fetch(...args).finally(() => (answered += 1));
    const call = limiter.fetch('partner', 'acme', { deadline: '3s', fetch: counting });
    const calls = Array.from({ length: 10 }, () => watch(call(url)));
    await until(() => answered === 10);
    await aMoment();
    expect(calls.some(({ done }) => done)).toBe(false);
    clock.advance(3_000_000);
    expect((await Promise.all(calls.map(({ promise }) => promise))).map(({ status }) => status)).toEqual(calls.map(() => 429));
  });

  it('later than the deadline is given to the caller at once', async () => {
    const { url, asked } = await partner(refusing({ 'retry-after': '31' }));
    const { call } = setUp({ maxHold: '1s' });
    const response = await call(url);
    expect([response.status, await response.text(), asked.length]).toEqual([429, 'answer', 1]);
  });

  it('is given to the caller when it was sent again as often as may be', async () => {
    const { url, asked } = await partner(...[1, 2, 3, 4].map(() => refusing({ 'retry-after': '0' })));
    const { call, clock } = setUp({ retries: 2 });
    const sent = watch(call(url));
    await passing(clock, sent);
    expect([(await sent.promise).status, asked.length]).toEqual([429, 3]);
    const none = await partner(refusing({ 'retry-after': '0' }));
    expect((await withClock(rules).limiter.fetch('partner', 'acme', { retries: 0 })(none.url)).status).toBe(429);
  });

  it('without any time is sent again after growing waits, and holds back nobody', async () => {
    const { url, asked } = await partner(refusing({}), refusing({}));
    const { limiter, call, clock } = setUp();
    const sent = watch(call(url));
    await until(() => asked.length === 1);
    expect(await limiter.peek('partner', 'acme')).toMatchObject({ allowed: true });
    const seconds = await passing(clock, sent);
    expect((await sent.promise).status).toBe(200);
    expect(seconds).toBeGreaterThan(1.5);
  });
});

describe('what is sent again', () => {
  const again = async (status: number, make: (url: string) => readonly [string | Request, RequestInit?]): Promise<number> => {
    const { url, asked } = await partner(refusing({ 'retry-after': '0' }, status));
    const { call, clock } = setUp();
    await passing(clock, watch(call(...make(url))));
    return asked.length - 1;
  };
  const stream = () => new Blob(['text']).stream();

  it.each([
    [503, 'GET', 1],
    [503, 'PUT', 1],
    [503, 'DELETE', 1],
    [503, 'POST', 0],
    [503, 'PATCH', 0],
    [429, 'POST', 1],
    [429, 'PATCH', 1],
    [500, 'GET', 0],
    [403, 'GET', 0],
  ])('after %i a %s: %i times', async (status, method, times) => {
    expect(await again(status, (url) => [url, { method }])).toBe(times);
  });

  it('is a POST after 503 only with an Idempotency-Key', async () => {
    expect(await again(503, (url) => [url, { method: 'POST', body: '1', headers: { 'Idempotency-Key': '"a"' } }])).toBe(1);
  });

  it('is no body that is a stream, which is used up', async () => {
    expect(await again(429, (url) => [url, { method: 'PUT', body: stream(), duplex: 'half' } as RequestInit])).toBe(0);
    expect(await again(429, (url) => [new Request(url, { method: 'PUT', body: 'text' })])).toBe(0);
    expect(await again(429, (url) => [new Request(url, { method: 'DELETE' })])).toBe(1);
  });
});

describe('limiter.fetch', () => {
  const { limiter } = withClock({ ...rules, jobs: { limit: concurrency({ limit: 3, expires: '1m' }) } });

  it('refuses wrong options at once', () => {
    const wrong = (options: unknown) => () => limiter.fetch('partner', 'acme', options as OutboundOptions);
    expect(wrong({ retries: 11 })).toThrow('fetch.retries: expected a whole number from 0 to 10; got 11');
    expect(wrong({ retry: 1 })).toThrow('fetch: unknown option "retry"');
    expect(wrong({ deadline: '25d' })).toThrow('fetch.deadline: at most 24 days; got "25d"');
    expect(wrong({ maxHold: '2d' })).toThrow('fetch.maxHold: at most 1 days; got "2d"');
    expect(wrong({ maxWait: 0 })).toThrow('fetch.maxWait: shorter than 1 ms');
    expect(wrong({ fetch: 'curl' })).toThrow('fetch.fetch: expected a function');
    expect(wrong({ cost: 0 })).toThrow('a cost is a whole number');
    expect(() => limiter.fetch('partner', '')).toThrow('a key is non-empty text');
    expect(() => limiter.fetch('jobs', 'acme')).toThrow('fetch: rule "jobs" limits concurrency');
  });

  it('refuses once the limiter is closed', async () => {
    const closed = createLimiter({ store: memoryStore(), rules });
    await closed.close();
    expect(() => closed.fetch('partner', 'acme')).toThrow('the limiter is closed');
  });

  it('lets a rule that only observes send at once, also while it is held back', async () => {
    const { url, asked } = await partner(refusing({ 'retry-after': '3600' }));
    const shadow = withClock({ partner: { ...rules.partner, shadow: true } }).limiter;
    for (let i = 0; i < 5; i += 1) await shadow.fetch('partner', 'acme', { retries: 0 })(url);
    expect(asked).toHaveLength(5);
  });
});

describe('two processes that share a store', () => {
  const { each } = deployments();
  describe.each(each)('%s', (_, two) => {
    it('are held back by an answer to one of them, also those that wait for a turn already', async () => {
      const { url, asked } = await partner({ status: 200 }, refusing({ 'retry-after': '1' }));
      const [one, other] = two({ partner: { limit: tokenBucket({ capacity: 2, refill: '10/s' }) } });
      const call = one.fetch('partner', 'acme');
      await call(url);
      const refused = one.fetch('partner', 'acme', { retries: 0 })(url);
      const waiting = other.fetch('partner', 'acme')(url);
      expect((await refused).status).toBe(429);
      const impatient = other.fetch('partner', 'acme', { maxWait: 100 })(url);
      await expect(impatient).rejects.toMatchObject({ code: 'HEADGATE_NO_TURN', decision: { reason: 'banned' } });
      expect((await waiting).status).toBe(200);
      expect(asked).toHaveLength(3);
      expect((asked[2]?.at ?? 0) - (asked[1]?.at ?? 0)).toBeGreaterThan(999);
    });
  });
});
