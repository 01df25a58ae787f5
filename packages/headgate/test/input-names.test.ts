import { describe, expect, it } from 'vitest';
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
  type unlimited,
} from '../src/index.js';
import { redisStore } from '../src/redis.js';
import { expectConfigError, expectTypeError, limiterToMisuse, thrownBy, wrong } from './support/wrong-input.js';

const { store, limiter } = limiterToMisuse();

describe('names that a limiter does not have', () => {
  const absent: unknown[] = [
    'nope',
    '',
    'constructor',
    '__proto__',
    'toString',
    'hasOwnProperty',
    'valueOf',
    undefined,
    null,
    5,
    Symbol.iterator,
  ];

  it('an unknown rule is a TypeError that lists the rules there are', async () => {
    for (const name of absent) {
      const rule = wrong(name);
      const calls = [
        () => limiter.check(rule, 'key'),
        () =>
          limiter.checkAll([
            { rule: 'bucket', key: 'key' },
            { rule, key: 'key' },
          ]),
        () => limiter.peek(rule, 'key'),
        () => limiter.reserve(rule, 'key'),
        () => limiter.acquire(rule, 'key', { maxWait: '1s' }),
        () => limiter.reset(rule, 'key'),
        () => limiter.ban(rule, 'key', '1m'),
        () => limiter.unban(rule, 'key'),
      ];
      const shown = typeof name === 'string' ? JSON.stringify(name) : String(name);
      for (const call of calls) {
        const error = await thrownBy(call);
        expect(error).toBeInstanceOf(TypeError);
        expect(error).toMatchObject({ code: 'HEADGATE_UNKNOWN_RULE' });
        expect(error.message).toContain(`unknown rule ${shown}`);
        expect(error.message).toContain('"bucket", "window", "held", "free"');
      }
    }
    expect(store.calls).toEqual([]);
  });

  it('a plan that the rule does not have gets its limit, also if it is named like an inherited property', async () => {
    for (const plan of ['nope', 'constructor', '__proto__', 'toString', 'hasOwnProperty']) {
      expect(await limiter.check('bucket', plan, { plan: plan as 'pro' })).toMatchObject({ allowed: true, limit: 20, remaining: 19 });
    }
    expect(await limiter.check('bucket', 'pro', { plan: 'pro' })).toMatchObject({ limit: 200, remaining: 199 });
  });

  it('a plan that is no text is a TypeError', async () => {
    for (const [plan, shown] of [
      [5, '5'],
      [null, 'null'],
      [{}, 'an object'],
    ] as const) {
      await expectTypeError(() => limiter.check('bucket', 'key', wrong({ plan })), 'HEADGATE_BAD_CALL', 'a plan is text', `got ${shown}`);
    }
    expect(store.calls).toEqual([]);
  });

  it('rules and plans may have names that objects inherit', async () => {
    const rules = JSON.parse('{"constructor": {}, "__proto__": {}}') as Record<string, { limit?: unknown; plans?: unknown }>;
    const plans = JSON.parse('{"__proto__": 0, "toString": 0}') as Record<string, unknown>;
    for (const plan of ['__proto__', 'toString']) {
      Object.defineProperty(plans, plan, { value: fixedWindow({ limit: 7, window: '1h' }), enumerable: true });
    }
    for (const name of ['constructor', '__proto__']) {
      Object.defineProperty(rules, name, { value: { limit: fixedWindow({ limit: 2, window: '1h' }), plans }, enumerable: true });
    }
    const odd = createLimiter({ rules: wrong(rules) as Record<string, { limit: ReturnType<typeof unlimited> }> });
    expect(await odd.check('constructor', '__proto__')).toMatchObject({ rule: 'constructor', limit: 2, remaining: 1 });
    expect(await odd.check('__proto__', 'constructor')).toMatchObject({ rule: '__proto__', limit: 2, remaining: 1 });
    expect(await odd.check('__proto__', 'constructor', { plan: '__proto__' })).toMatchObject({ limit: 7, remaining: 5 });
    expect(await odd.check('__proto__', 'constructor', { plan: 'toString' })).toMatchObject({ limit: 7, remaining: 4 });
    await expectTypeError(() => odd.check('toString', 'key'), 'HEADGATE_UNKNOWN_RULE');
  });
});

describe('options that do not exist', () => {
  const limit = tokenBucket({ capacity: 1, refill: '1/s' });
  const makers: [maker: string, option: string, make: () => unknown, mend: string][] = [
    ['tokenBucket', 'refillRate', () => tokenBucket(wrong({ capacity: 1, refillRate: '1/s' })), 'did you mean "refill"?'],
    ['fixedWindow', 'windowMS', () => fixedWindow(wrong({ limit: 1, windowMS: 1000 })), 'did you mean "window"?'],
    ['slidingWindow', 'windowMs', () => slidingWindow(wrong({ limit: 1, windowMs: 1000 })), 'did you mean "window"?'],
    ['slidingLog', 'LIMIT', () => slidingLog(wrong({ LIMIT: 1, window: '1s' })), 'did you mean "limit"?'],
    ['quota', 'timezone', () => quota(wrong({ limit: 1, period: 'day', timezone: 'UTC' })), 'did you mean "timeZone"?'],
    ['concurrency', 'ttl', () => concurrency(wrong({ limit: 1, ttl: '1m' })), 'known options: limit, expires'],
    ['consecutiveFailures', 'firstwait', () => consecutiveFailures(wrong({ firstwait: '30s' })), 'did you mean "firstWait"?'],
    ['createLimiter', 'rule', () => createLimiter(wrong({ rules: {}, rule: {} })), 'known options: store, rules'],
    ['createLimiter', 'deadlineMs', () => createLimiter(wrong({ rules: {}, deadlineMs: 5 })), 'did you mean "deadline"?'],
    ['createLimiter', 'constructor', () => createLimiter(wrong({ rules: {}, constructor: 5 })), 'known options'],
    ['memoryStore', 'max', () => memoryStore(wrong({ max: 5 })), 'known options: maxKeys, clock'],
    [
      'redisStore',
      'keyPrefix',
      () => redisStore(wrong({ client: {}, keyPrefix: 'a' })),
      'known options: client, clients, weights, prefix, keySecret, onCall',
    ],
    ['rule "a"', 'windowMS', () => createLimiter({ rules: { a: wrong({ limit, windowMS: 5 }) } }), 'known options: limit, mode'],
    ['rule "a"', 'Plans', () => createLimiter({ rules: { a: wrong({ limit, Plans: {} }) } }), 'did you mean "plans"?'],
  ];
  it.each(makers)('%s names %s and the mend in a ConfigError', async (maker, option, make, mend) => {
    await expectConfigError(make, 'HEADGATE_UNKNOWN_OPTION', `${maker}: unknown option "${option}"`, mend);
  });

  it('in a check they are a TypeError, and no store is asked', async () => {
    const options = wrong({ costs: 3 });
    const calls = [
      () => limiter.check('bucket', 'key', options),
      () => limiter.checkAll([{ rule: 'bucket', key: 'key', ...options }]),
      () => limiter.peek('bucket', 'key', options),
      () => limiter.reserve('bucket', 'key', options),
      () => limiter.acquire('bucket', 'key', { maxWait: '1s', ...options }),
    ];
    for (const call of calls) await expectTypeError(call, 'HEADGATE_UNKNOWN_OPTION', 'unknown option "costs"', 'known options: cost, plan');
    await expectTypeError(
      () => limiter.acquire('bucket', 'key', wrong({ maxWaitMs: 5 })),
      'HEADGATE_UNKNOWN_OPTION',
      '"maxWaitMs"',
      'maxWait, signal',
    );
    await expectTypeError(() => limiter.check('bucket', 'key', wrong({ windowMS: 5 })), 'HEADGATE_UNKNOWN_OPTION', '"windowMS"');
    expect(store.calls).toEqual([]);
  });

  it('options that are no object are named as what they are', async () => {
    for (const [options, shown] of [
      [5, '5'],
      ['cost', '"cost"'],
      [null, 'null'],
      [[3], 'an array of 1'],
    ] as const) {
      await expectTypeError(() => limiter.check('bucket', 'key', wrong(options)), 'HEADGATE_BAD_CALL', `got ${shown}`);
      await expectTypeError(() => limiter.acquire('bucket', 'key', wrong(options)), 'HEADGATE_BAD_CALL', `got ${shown}`);
      await expectConfigError(() => tokenBucket(wrong(options)), 'HEADGATE_BAD_OPTION', 'tokenBucket', `got ${shown}`);
      await expectConfigError(() => createLimiter(wrong(options)), 'HEADGATE_BAD_OPTION', 'createLimiter', `got ${shown}`);
      await expectConfigError(() => redisStore(wrong(options)), 'HEADGATE_BAD_OPTION', 'redisStore', `got ${shown}`);
      await expectConfigError(() => memoryStore(wrong(options)), 'HEADGATE_BAD_OPTION', 'memoryStore', `got ${shown}`);
    }
    await expectTypeError(() => limiter.acquire('bucket', 'key', wrong(undefined)), 'HEADGATE_BAD_CALL', 'got undefined');
    await expectConfigError(() => tokenBucket(wrong(undefined)), 'HEADGATE_BAD_OPTION', 'got undefined');
    expect(store.calls).toEqual([]);
  });
});
