import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setImmediate } from 'node:timers/promises';
import express, { type Request } from 'express';
import Fastify, { type FastifyRequest } from 'fastify';
import fc from 'fast-check';
import {
  concurrency,
  consecutiveFailures,
  createLimiter,
  fixedWindow,
  memoryStore,
  quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
  unlimited,
  type Clock,
  type Limit,
  type Store,
} from 'headgate';
import { rateLimit as rateLimitExpress } from 'headgate/express';
import { rateLimit, type RateLimitOptions } from 'headgate/fastify';
import { fakeClock } from 'headgate/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { send } from './client.js';
import { running } from './hosts/express.js';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** The same store, which knows nothing at once. */
function lateStore(clock?: Clock): Store {
  const store: Store = memoryStore(clock && { clock });
  delete store.checkNow;
  return store;
}

const limit = fixedWindow({ limit: 2, window: '1h', from: 'first-request' });
const stores = { 'at once': () => memoryStore(), later: () => lateStore() };

describe.each(Object.entries(stores))('a store that answers %s', (when, store) => {
  const made = () => createLimiter({ store: store(), rules: { a: { limit } } });

  /** An Express app that tells whether the limit called `next` before it returned, and what was on the request then. */
  async function expressApp(options: Partial<RateLimitOptions<'a', string, Request>> = {}) {
    const limited = rateLimitExpress<'a', string, Request>({ limiter: made(), rule: 'a', ...options } as RateLimitOptions<
      'a',
      string,
      Request
    >);
    const app = express();
    const calls: { inTurn: boolean; error: unknown; remaining: number | undefined }[] = [];
    app.use((request, response, next) => {
      let inTurn = true;
      limited(request, response, (error) => {
        calls.push({ inTurn, error, remaining: request.rateLimit?.decision.remaining });
        if (error === undefined) next();
        else response.status(500).end((error as Error).message);
      });
      inTurn = false;
    });
    app.get('/', (request, response) => {
      if (request.get('x-broken') !== undefined) throw new Error('of the handler');
      response.end('ok');
    });
    const { port, close } = await running(app.listen(0, '127.0.0.1'));
    open.push(close);
    return { port, calls };
  }

  it(`goes on ${when}, and finds the decision on the request`, async () => {
    const { port, calls } = await expressApp();
    expect((await send(port)).status).toBe(200);
    expect(calls).toEqual([{ inTurn: when === 'at once', error: undefined, remaining: 1 }]);
  });

  it('waits for an async key, and not for one that is there', async () => {
    for (const [key, atOnce] of [
      [() => 'ada', true],
      [async () => 'ada', false],
    ] as const) {
      const { port, calls } = await expressApp({ key });
      const { status, headers } = await send(port);
      expect([status, headers['ratelimit']]).toEqual([200, '"a";r=1;t=3600']);
      expect(calls).toEqual([{ inTurn: atOnce && when === 'at once', error: undefined, remaining: 1 }]);
    }
  });

  it('waits for a thenable that is no promise', async () => {
    const key = () => ({ then: (resolve: (key: string) => void) => resolve('ada') }) as unknown as Promise<string>;
    const skip = () => ({ then: (resolve: (skips: boolean) => void) => resolve(false) }) as unknown as Promise<boolean>;
    const { port } = await expressApp({ key, skip });
    const statuses = [];
    for (let i = 0; i < 3; i += 1) statuses.push((await send(port)).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  it('makes the same error of a function that throws and of one that rejects', async () => {
    const fail = (): never => {
      throw new Error('of the key');
    };
    for (const options of [{ key: fail }, { key: async () => fail() }, { skip: fail }, { skip: async () => fail() }, { address: fail }]) {
      const { port, calls } = await expressApp(options);
      const { status, body } = await send(port);
      expect([status, body]).toEqual([500, 'of the key']);
      expect(calls).toEqual([{ inTurn: expect.any(Boolean), error: new Error('of the key'), remaining: undefined }]);
    }
  });

  it('asks one function after another, so that none fails unheard', async () => {
    const fail = (what: string): never => {
      throw new Error(what);
    };
    const { port, calls } = await expressApp({ rule: async () => fail('of the rule'), key: () => fail('of the key') });
    expect((await send(port)).body).toBe('of the rule');
    expect(calls).toHaveLength(1);
  });

  it('takes no error of the next handler for its own', async () => {
    const { port, calls } = await expressApp();
    expect((await send(port, { headers: { 'x-broken': '1' } })).status).toBe(500);
    expect(calls).toEqual([expect.objectContaining({ error: undefined })]);
  });

  it('tells each decision on the diagnostics channel', async () => {
    const heard: unknown[] = [];
    const listen = (message: unknown) => void heard.push((message as { remaining: number }).remaining);
    const { port } = await expressApp();
    subscribe('headgate:decision', listen);
    try {
      for (let i = 0; i < 3; i += 1) await send(port);
    } finally {
      unsubscribe('headgate:decision', listen);
    }
    expect(heard).toEqual([1, 0, 0]);
  });

  it('refuses also in a Fastify hook of one’s own, which awaits it', async () => {
    const limited = rateLimit({ limiter: made(), rule: 'a' });
    const app = Fastify();
    app.addHook('onRequest', async (request, reply) => {
      await limited(request, reply);
    });
    // Until it is done the refusal is not sent.
    app.addHook('onSend', () => setImmediate(undefined));
    let handled = 0;
    app.get('/', () => `${(handled += 1)}`);
    const statuses = [];
    for (let i = 0; i < 3; i += 1) statuses.push((await app.inject('/')).statusCode);
    expect([statuses, handled]).toEqual([[200, 200, 429], 2]);
  });

  it('asks the check that was put in place of the limiter’s own', async () => {
    const limiter = made();
    const app = Fastify();
    app.addHook('onRequest', rateLimit({ limiter, rule: 'a' }));
    app.get('/', () => 'ok');
    const check = vi.spyOn(limiter, 'check');
    await app.inject('/');
    expect(check.mock.calls).toEqual([['a', '127.0.0.1']]);
    check.mockRestore();
    expect((await app.inject('/')).headers['ratelimit']).toBe('"a";r=0;t=3600');
  });

  it('keeps what each of several limits decided, and settles by a method that was taken out', async () => {
    const limiter = createLimiter({ store: store(), rules: { a: { limit }, b: { limit: fixedWindow({ limit: 9, window: '1h' }) } } });
    const [a, b] = [rateLimit({ limiter, rule: 'a' }), rateLimit({ limiter, rule: 'b', cost: 4 })];
    const app = Fastify();
    app.get('/', { onRequest: [a, b] }, async (request) => {
      const { settle } = b.of(request)!;
      return [a.of(request)?.decision.remaining, request.rateLimit === b.of(request), await settle('b', 1)];
    });
    expect((await app.inject('/')).json()).toEqual([1, true, { returned: 3, charged: 0 }]);
    expect(a.of({} as FastifyRequest)).toBeUndefined();
  });
});

const size = fc.integer({ min: 1, max: 6 });
const limits: fc.Arbitrary<Limit> = fc.oneof(
  fc.tuple(size, size).map(([capacity, perMinute]) => tokenBucket({ capacity, refill: `${perMinute}/m` })),
  size.map((limit) => fixedWindow({ limit, window: '1m' })),
  size.map((limit) => slidingWindow({ limit, window: '1m' })),
  size.map((limit) => slidingLog({ limit, window: '1m' })),
  size.map((limit) => quota({ limit, period: 'day' })),
  size.map((limit) => concurrency({ limit, expires: '5m' })),
  fc.constant(consecutiveFailures()),
  fc.constant(unlimited()),
);
const settings = fc.record(
  {
    headers: fc.constantFrom(
      'draft-11' as const,
      'draft-8' as const,
      'draft-7' as const,
      'draft-6' as const,
      'x-ratelimit' as const,
      false as const,
    ),
    countWhen: fc.constantFrom('always' as const, 'success' as const, 'failure' as const),
    cost: fc.integer({ min: 1, max: 3 }),
    partitionSecret: fc.constant('at least sixteen characters'),
    quotaUnits: fc.constant({ 'a "name"': 'content-bytes' }),
  },
  { requiredKeys: [] },
);
const rule = fc.record({ limit: limits, shadow: fc.boolean() }).filter(({ limit, shadow }) => !shadow || limit.kind !== 'concurrency');
const requests = fc.array(
  fc.record({ key: fc.constantFrom('ada', 'bob', ''), status: fc.constantFrom(200, 401), pauseMs: fc.integer({ min: 0, max: 40_000 }) }),
  { minLength: 1, maxLength: 12 },
);

it('answers the same, byte for byte, at once and later, whatever the rule, the options and the requests', async () => {
  await fc.assert(
    fc.asyncProperty(rule, settings, requests, async (a, options, asked) => {
      const ways = ['at once', 'later', 'by an async key'].map((way) => {
        const clock = fakeClock();
        const store = way === 'later' ? lateStore(clock) : memoryStore({ clock });
        const limiter = createLimiter({ store, clock, rules: { 'a "name"': a } });
        const keyOf = ({ headers }: FastifyRequest) => String(headers['x-key'] ?? '');
        const key = way === 'by an async key' ? async (request: FastifyRequest) => keyOf(request) : keyOf;
        const app = Fastify();
        app.addHook('onRequest', rateLimit<string, string, FastifyRequest>({ limiter, rule: 'a "name"', key, ...options }));
        app.get('/', (request, reply) => reply.code(Number(request.headers['x-status'])).send(request.rateLimit));
        return async ({ key, status, pauseMs }: (typeof asked)[number]) => {
          clock.advance(pauseMs * 1000);
          const { statusCode, headers, body } = await app.inject({ url: '/', headers: { 'x-key': key, 'x-status': `${status}` } });
          return { statusCode, headers: { ...headers, date: undefined }, body };
        };
      });
      for (const request of asked) {
        const [atOnce, ...others] = await Promise.all(ways.map((ask) => ask(request)));
        for (const other of others) expect(other).toEqual(atOnce);
      }
    }),
    { numRuns: 150 },
  );
});
