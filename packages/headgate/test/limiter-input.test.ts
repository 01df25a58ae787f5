import { afterEach, describe, expect, it } from 'vitest';
import { ConfigError, errorCodes, StoreError, type ErrorCode } from '../src/errors.js';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  memoryStore,
  quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
  unlimited,
} from '../src/index.js';
import { redisStore } from '../src/stores/redis/index.js';
import { countingStore } from './support/counting-store.js';

/** What a wrong call throws, whether at once or by rejecting; seen codes are kept for the last test. */
const raised = new Set<ErrorCode>();
async function thrownBy(call: () => unknown): Promise<Error & { code: ErrorCode }> {
  let outcome: unknown;
  try {
    outcome = await call();
  } catch (error) {
    if (!(error instanceof Error)) throw new Error(`threw no Error but ${String(error)}`, { cause: error });
    const { code } = error as Error & { code: ErrorCode };
    raised.add(code);
    return error as Error & { code: ErrorCode };
  }
  throw new Error(`nothing was thrown; it answered ${JSON.stringify(outcome)}`);
}

async function expectConfigError(call: () => unknown, code: ErrorCode, ...parts: (string | RegExp)[]): Promise<void> {
  const error = await thrownBy(call);
  expect(error).toBeInstanceOf(ConfigError);
  expect(error.code).toBe(code);
  for (const part of parts) expect(error.message).toMatch(part);
}

async function expectTypeError(call: () => unknown, code: ErrorCode, ...parts: (string | RegExp)[]): Promise<void> {
  const error = await thrownBy(call);
  expect(error).toBeInstanceOf(TypeError);
  expect(error.code).toBe(code);
  for (const part of parts) expect(error.message).toMatch(part);
}

/** For calls that the types forbid. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
const wrong = (value: unknown): any => value;

const store = countingStore();
const limiter = createLimiter({
  store,
  deadline: '2s',
  rules: {
    bucket: { limit: tokenBucket({ capacity: 20, refill: '2/s' }), plans: { pro: tokenBucket({ capacity: 200, refill: '20/s' }) } },
    window: { limit: fixedWindow({ limit: 5, window: '1h' }) },
    held: { limit: concurrency({ limit: 3, expires: '1m' }) },
    free: { limit: unlimited() },
  },
});
afterEach(() => {
  store.calls.length = 0;
});

const badCosts: [shown: string, cost: unknown][] = [
  ['NaN', Number.NaN],
  ['0.5', 0.5],
  ['-1', -1],
  ['0', 0],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['"3"', '3'],
  ['10000000000000000000', 1e19],
  ['9000000001', 9_000_000_001],
  ['null', null],
  ['true', true],
  ['3n', 3n],
  ['an array of 1', [3]],
];

describe('a cost that is no whole number of at least 1', () => {
  it.each(badCosts)('%s is a TypeError in every verb that takes a cost, and no store is asked', async (shown, cost) => {
    const options = wrong({ cost });
    const calls = [
      () => limiter.check('bucket', 'key', options),
      () =>
        limiter.checkAll([
          { rule: 'window', key: 'key' },
          { rule: 'bucket', key: 'key', ...options },
        ]),
      () => limiter.peek('bucket', 'key', options),
      () => limiter.reserve('bucket', 'key', options),
      () => limiter.acquire('bucket', 'key', { maxWait: '1s', ...options }),
      () => limiter.check('free', 'key', options),
    ];
    for (const call of calls) await expectTypeError(call, 'HEADGATE_BAD_COST', `got ${shown}`, 'whole number from 1 to 9000000000');
    expect(store.calls).toEqual([]);
    expect(limiter.stats()).toMatchObject({ degraded: 0 });
  });

  it.each(badCosts.filter(([shown]) => shown !== '0'))(
    '%s does not settle a reservation, which can be settled afterwards',
    async (shown, actual) => {
      const reservation = await limiter.reserve('window', `settle ${shown}`, { cost: 3 });
      store.calls.length = 0;
      await expectTypeError(() => reservation.settle(wrong(actual)), 'HEADGATE_BAD_COST', `got ${shown}`, 'whole number from 0');
      await expectTypeError(() => limiter.settle(reservation.decision, wrong(actual)), 'HEADGATE_BAD_COST', `got ${shown}`);
      expect(store.calls).toEqual([]);
      expect(await reservation.settle(1)).toEqual({ returned: 2, charged: 0 });
    },
  );
});

const missingKeys: [shown: string, key: unknown][] = [
  ['""', ''],
  ['undefined', undefined],
  ['null', null],
  ['5', 5],
  ['NaN', Number.NaN],
  ['an object', {}],
  ['an array of 1', ['key']],
];

describe('a key that is missing or no text', () => {
  it.each(missingKeys)('%s is a TypeError in every verb, never one budget for everybody', async (shown, missing) => {
    const key = wrong(missing);
    const calls = [
      () => limiter.check('bucket', key),
      () =>
        limiter.checkAll([
          { rule: 'window', key: 'key' },
          { rule: 'bucket', key },
        ]),
      () => limiter.peek('bucket', key),
      () => limiter.reserve('bucket', key),
      () => limiter.acquire('bucket', key, { maxWait: '1s' }),
      () => limiter.reset('bucket', key),
      () => limiter.ban('bucket', key, '1m'),
      () => limiter.unban('bucket', key),
      () => limiter.check('free', key),
    ];
    for (const call of calls) await expectTypeError(call, 'HEADGATE_BAD_KEY', `got ${shown}`, 'non-empty text', 'name a key of its own');
    expect(store.calls).toEqual([]);
  });

  it('a lone surrogate is a TypeError, as two such keys would meet in Redis', async () => {
    for (const key of ['\ud800', 'a\udfffb', '\udc00\ud800']) {
      await expectTypeError(() => limiter.check('bucket', key), 'HEADGATE_BAD_KEY', 'lone surrogate');
    }
    expect(store.calls).toEqual([]);
    expect((await limiter.check('bucket', 'a \u{1f600} pair is text')).allowed).toBe(true);
  });

  it('a key of over 65,536 characters is a TypeError that says so and does not repeat the key', async () => {
    const error = await thrownBy(() => limiter.check('bucket', 'x'.repeat(65_537)));
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({ code: 'HEADGATE_BAD_KEY' });
    expect(error.message).toMatch(/65537 characters.*at most 65536/);
    expect(error.message.length).toBeLessThan(200);
    expect(store.calls).toEqual([]);
  });
});

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
      expect(await limiter.check('bucket', plan, { plan })).toMatchObject({ allowed: true, limit: 20, remaining: 19 });
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
    ['createLimiter', 'rule', () => createLimiter(wrong({ rules: {}, rule: {} })), 'known options: store, rules'],
    ['createLimiter', 'deadlineMs', () => createLimiter(wrong({ rules: {}, deadlineMs: 5 })), 'did you mean "deadline"?'],
    ['createLimiter', 'constructor', () => createLimiter(wrong({ rules: {}, constructor: 5 })), 'known options'],
    ['memoryStore', 'max', () => memoryStore(wrong({ max: 5 })), 'known options: maxKeys, clock'],
    ['redisStore', 'keyPrefix', () => redisStore(wrong({ client: {}, keyPrefix: 'a' })), 'known options: client, prefix, keySecret'],
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

describe('limits with numbers that cannot work', () => {
  const badLimits: [shown: string, limit: unknown][] = [
    ['NaN', Number.NaN],
    ['0.5', 0.5],
    ['undefined', undefined],
    ['-1', -1],
    ['null', null],
    ['"5"', '5'],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['10000000000000000000', 1e19],
    ['9000000001', 9_000_000_001],
  ];
  it.each(badLimits)('%s is a ConfigError in every maker', async (shown, value) => {
    const limit = wrong(value);
    const makers: [string, () => unknown][] = [
      ['tokenBucket.capacity', () => tokenBucket({ capacity: limit, refill: '1/s' })],
      ['fixedWindow.limit', () => fixedWindow({ limit, window: '1m' })],
      ['slidingWindow.limit', () => slidingWindow({ limit, window: '1m' })],
      ['slidingLog.limit', () => slidingLog({ limit, window: '1m' })],
      ['quota.limit', () => quota({ limit, period: 'day' })],
      ['concurrency.limit', () => concurrency({ limit, expires: '1m' })],
    ];
    for (const [where, make] of makers)
      await expectConfigError(make, 'HEADGATE_BAD_LIMIT', where, `got ${shown}`, 'whole number from 0 to');
  });

  it('a log and a concurrency limit hold at most 1,000', async () => {
    await expectConfigError(
      () => slidingLog({ limit: 1001, window: '1m' }),
      'HEADGATE_BAD_LIMIT',
      'slidingLog.limit',
      'from 0 to 1000; got 1001',
    );
    await expectConfigError(
      () => concurrency({ limit: 1001, expires: '1m' }),
      'HEADGATE_BAD_LIMIT',
      'concurrency.limit',
      'from 0 to 1000; got 1001',
    );
    expect(slidingLog({ limit: 1000, window: '1m' }).limit).toBe(1000);
    expect(concurrency({ limit: 1000, expires: '1m' }).limit).toBe(1000);
  });

  it('a bucket holds at most 9e9 units, and takes at most ten years to fill', async () => {
    await expectConfigError(() => tokenBucket({ capacity: 9e9 + 1, refill: '1000/s' }), 'HEADGATE_BAD_LIMIT', 'got 9000000001');
    await expectConfigError(
      () => tokenBucket({ capacity: 1000, refill: '1/30d' }),
      'HEADGATE_BAD_LIMIT',
      'over ten years',
      'lower the capacity or raise the refill',
    );
    await expectConfigError(() => tokenBucket({ capacity: 3653, refill: '1/d' }), 'HEADGATE_BAD_LIMIT', 'capacity 3653 at refill "1/d"');
    expect(tokenBucket({ capacity: 3652, refill: '1/d' }).capacity).toBe(3652);
    expect(tokenBucket({ capacity: 9e9, refill: '9000000000/s' }).capacity).toBe(9e9);
    expect(fixedWindow({ limit: 9e9, window: '1m' }).limit).toBe(9e9);
  });

  const badDurations: [shown: string, duration: unknown, why: string][] = [
    ['0', 0, 'shorter than 1 ms'],
    ['-5', -5, 'shorter than 1 ms'],
    ['0.5', 0.5, 'not a whole number of milliseconds'],
    ['NaN', Number.NaN, 'not a whole number of milliseconds'],
    ['Infinity', Number.POSITIVE_INFINITY, 'not a whole number of milliseconds'],
    ['10000000000000000000', 1e19, 'longer than ten years'],
    ['"3654d"', '3654d', 'longer than ten years'],
    ['"0s"', '0s', 'shorter than 1 ms'],
    ['"1.5ms"', '1.5ms', 'not a whole number of milliseconds'],
    ['"1 m"', '1 m', 'not a duration'],
    ['"1M"', '1M', 'not a duration'],
    ['"-1s"', '-1s', 'not a duration'],
    ['"1month"', '1month', 'not a duration'],
    ['""', '', 'not a duration'],
    ['undefined', undefined, 'not a duration'],
    ['null', null, 'not a duration'],
    ['an object', {}, 'not a duration'],
  ];
  it.each(badDurations)('a window of %s is a ConfigError wherever a duration is read', async (shown, value, why) => {
    const window = wrong(value);
    const makers: [string, () => unknown][] = [
      ['fixedWindow.window', () => fixedWindow({ limit: 1, window })],
      ['slidingWindow.window', () => slidingWindow({ limit: 1, window })],
      ['slidingLog.window', () => slidingLog({ limit: 1, window })],
      ['concurrency.expires', () => concurrency({ limit: 1, expires: window })],
      ['acquire.maxWait', () => limiter.acquire('bucket', 'key', { maxWait: window })],
      ['ban', () => limiter.ban('bucket', 'key', window)],
    ];
    if (value !== undefined) makers.push(['createLimiter.deadline', () => createLimiter({ rules: {}, deadline: window })]);
    for (const [where, make] of makers) await expectConfigError(make, 'HEADGATE_BAD_DURATION', where, why, `got ${shown}`, 'such as "10s"');
    expect(store.calls).toEqual([]);
  });

  const badRates: [shown: string, rate: unknown, why: string][] = [
    ['undefined', undefined, 'not a rate'],
    ['5', 5, 'not a rate'],
    ['"0/s"', '0/s', 'refills nothing'],
    ['"-1/s"', '-1/s', 'not a rate'],
    ['"0.5/s"', '0.5/s', 'not a rate of whole units'],
    ['"1/month"', '1/month', 'not a rate'],
    ['"9000000001/s"', '9000000001/s', 'more than 9e9'],
    ['"NaN/s"', 'NaN/s', 'not a rate'],
    ['"2"', '2', 'not a rate'],
  ];
  it.each(badRates)('a refill of %s is a ConfigError', async (shown, refill, why) => {
    await expectConfigError(
      () => tokenBucket({ capacity: 1, refill: wrong(refill) }),
      'HEADGATE_BAD_RATE',
      'tokenBucket.refill',
      why,
      `got ${shown}`,
      'such as "2/s"',
    );
  });

  it('a refill over no time at all is a ConfigError', async () => {
    await expectConfigError(
      () => tokenBucket({ capacity: 1, refill: '1/0s' }),
      'HEADGATE_BAD_DURATION',
      'tokenBucket.refill',
      'shorter than 1 ms',
    );
  });

  it('a quota names its period, zone and billing day where they are wrong', async () => {
    const limit = 1;
    await expectConfigError(
      () => quota({ limit, period: wrong('fortnight') }),
      'HEADGATE_BAD_OPTION',
      'quota.period',
      'hour, day, week, month, year',
      'got "fortnight"',
    );
    await expectConfigError(() => quota({ limit, period: wrong('constructor') }), 'HEADGATE_BAD_OPTION', 'got "constructor"');
    await expectConfigError(
      () => quota({ limit, period: 'day', timeZone: 'Mars/Olympus' }),
      'HEADGATE_BAD_OPTION',
      'quota.timeZone',
      'got "Mars/Olympus"',
    );
    await expectConfigError(() => quota({ limit, period: 'month', billingDay: 32 }), 'HEADGATE_BAD_OPTION', 'quota.billingDay', 'got 32');
    await expectConfigError(() => quota({ limit, period: 'day', billingDay: 3 }), 'HEADGATE_BAD_OPTION', 'only a period of "month"');
  });

  it('a window begins at the epoch or with the first request', async () => {
    await expectConfigError(
      () => fixedWindow({ limit: 1, window: '1m', from: wrong('now') }),
      'HEADGATE_BAD_OPTION',
      'fixedWindow.from',
      'got "now"',
    );
  });
});

describe('limiters, rules and stores that cannot work', () => {
  const limit = tokenBucket({ capacity: 1, refill: '1/s' });
  const one =
    (rule: unknown, name = 'a') =>
    () =>
      createLimiter({ rules: { [name]: wrong(rule) } });

  it('rules that are no object of rules', async () => {
    for (const [rules, shown] of [
      [undefined, 'undefined'],
      [null, 'null'],
      [[], 'an array of 0'],
      ['a', '"a"'],
    ] as const) {
      await expectConfigError(
        () => createLimiter(wrong({ rules })),
        'HEADGATE_BAD_OPTION',
        'rules: expected an object of rules by name',
        `got ${shown}`,
      );
      await expectConfigError(() => limiter.withRules(wrong(rules)), 'HEADGATE_BAD_OPTION', `got ${shown}`);
    }
    await expectConfigError(one(5), 'HEADGATE_BAD_OPTION', 'rule "a"', 'got 5');
    await expectConfigError(one(null), 'HEADGATE_BAD_OPTION', 'rule "a"', 'got null');
  });

  it('a rule without a limit made by a maker', async () => {
    for (const [bad, shown] of [
      [undefined, 'undefined'],
      [5, '5'],
      [{ capacity: 1, refill: '1/s' }, 'an object'],
      [{ ...limit }, 'an object'],
    ] as const) {
      await expectConfigError(one({ limit: bad }), 'HEADGATE_BAD_LIMIT', 'rule "a".limit', 'such as tokenBucket', `got ${shown}`);
      await expectConfigError(one({ limit, plans: { pro: bad } }), 'HEADGATE_BAD_LIMIT', 'rule "a".plans.pro', `got ${shown}`);
    }
  });

  it('a rule with an option of the wrong kind', async () => {
    await expectConfigError(one({ limit, mode: 'lease' }), 'HEADGATE_BAD_OPTION', 'rule "a".mode', 'got "lease"');
    await expectConfigError(one({ limit, whenUnavailable: 'open' }), 'HEADGATE_BAD_OPTION', 'rule "a".whenUnavailable', 'got "open"');
    await expectConfigError(one({ limit, shadow: 1 }), 'HEADGATE_BAD_OPTION', 'rule "a".shadow', 'got 1');
    await expectConfigError(one({ limit, countRefused: 'yes' }), 'HEADGATE_BAD_OPTION', 'rule "a".countRefused', 'got "yes"');
    await expectConfigError(one({ limit, plans: 5 }), 'HEADGATE_BAD_OPTION', 'rule "a".plans', 'got 5');
    await expectConfigError(
      one({ limit: concurrency({ limit: 1, expires: '1m' }), countRefused: true }),
      'HEADGATE_BAD_RULE',
      'drop the option',
    );
  });

  it('a rule whose name no header can carry', async () => {
    for (const name of ['', 'ü', 'a\nb', 'x'.repeat(129)])
      await expectConfigError(one({ limit }, name), 'HEADGATE_BAD_RULE', 'printable ASCII');
  });

  it('a deadline, a fleet or a store of the wrong kind', async () => {
    const rules = { a: { limit } };
    await expectConfigError(() => createLimiter({ rules, deadline: '61s' }), 'HEADGATE_BAD_OPTION', 'at most 1m', 'got "61s"');
    for (const [fleetSize, shown] of [
      [0, '0'],
      [0.5, '0.5'],
      [Number.NaN, 'NaN'],
      ['3', '"3"'],
      [100_001, '100001'],
    ] as const) {
      await expectConfigError(
        () => createLimiter({ rules, fleetSize: wrong(fleetSize) }),
        'HEADGATE_BAD_OPTION',
        'fleetSize',
        `got ${shown}`,
      );
    }
    for (const [bad, shown] of [
      ['redis://localhost', '"redis://localhost"'],
      [{}, 'an object'],
      [5, '5'],
    ] as const) {
      await expectConfigError(
        () => createLimiter({ rules, store: wrong(bad) }),
        'HEADGATE_BAD_OPTION',
        'redisStore({ client })',
        `got ${shown}`,
      );
    }
    for (const [maxKeys, shown] of [
      [0, '0'],
      [1.5, '1.5'],
      [1e8, '100000000'],
    ] as const) {
      await expectConfigError(() => memoryStore({ maxKeys }), 'HEADGATE_BAD_OPTION', 'memoryStore.maxKeys', `got ${shown}`);
    }
  });

  it('a Redis store with a wrong client, prefix or secret, and the secret is not repeated', async () => {
    await expectConfigError(() => redisStore({ client: undefined }), 'HEADGATE_BAD_CLIENT', 'got undefined', 'pass one of');
    for (const prefix of ['', 'x'.repeat(65), '\ud800', 5]) {
      await expectConfigError(
        () => redisStore({ client: {}, prefix: wrong(prefix) }),
        'HEADGATE_BAD_OPTION',
        'redisStore.prefix',
        '1 to 64 characters',
      );
    }
    const error = await thrownBy(() => redisStore({ client: {}, keySecret: 'too short' }));
    expect(error).toMatchObject({ code: 'HEADGATE_BAD_OPTION' });
    expect(error.message).toContain('at least 16 characters');
    expect(error.message).not.toContain('too short');
  });
});

describe('verbs called with something they cannot work on', () => {
  it('a group of none, of more than 64, or of something else', async () => {
    for (const [checks, shown] of [
      [[], 'an array of 0'],
      [Array.from({ length: 65 }, () => ({ rule: 'bucket', key: 'k' })), 'an array of 65'],
      [undefined, 'undefined'],
      [{}, 'an object'],
    ] as const) {
      await expectTypeError(() => limiter.checkAll(wrong(checks)), 'HEADGATE_BAD_CALL', '1 to 64 checks', `got ${shown}`);
    }
    await expectTypeError(() => limiter.checkAll([wrong(5)]), 'HEADGATE_BAD_CALL', 'expected { rule, key, cost?, plan? }', 'got 5');
    expect(store.calls).toEqual([]);
  });

  it('something that is no decision of this limiter', async () => {
    const copy = { ...(await limiter.check('window', 'copied')) };
    store.calls.length = 0;
    for (const taken of [undefined, null, 5, 'a', {}, [], copy]) {
      const verbs = [limiter.refund, limiter.release, limiter.extend, limiter.receipt, (it: never) => limiter.settle(it, 0)];
      for (const verb of verbs)
        await expectTypeError(() => verb(wrong(taken) as never), 'HEADGATE_BAD_CALL', 'expected a decision of this limiter, not a copy');
    }
    expect(store.calls).toEqual([]);
  });

  it('a verb that the rule has no use for, and what was taken can still be given back', async () => {
    const held = await limiter.check('held', 'key');
    const taken = await limiter.check('window', 'misused', { cost: 2 });
    store.calls.length = 0;
    await expectTypeError(() => limiter.reserve('held', 'key'), 'HEADGATE_BAD_CALL', 'limits concurrency', 'release()');
    await expectTypeError(() => limiter.settle(held, 0), 'HEADGATE_BAD_CALL', 'limits concurrency', 'release()');
    await expectTypeError(() => limiter.extend(taken), 'HEADGATE_BAD_CALL', 'does not limit concurrency');
    await expectTypeError(() => limiter.release(taken), 'HEADGATE_BAD_CALL', 'does not limit concurrency', 'refund()');
    for (const verb of [limiter.reset, limiter.unban]) await expectTypeError(() => verb('free', 'key'), 'HEADGATE_BAD_CALL', 'unlimited');
    await expectTypeError(() => limiter.ban('free', 'key', '1m'), 'HEADGATE_BAD_CALL', 'unlimited');
    expect(store.calls).toEqual([]);
    expect(await limiter.release(held)).toBe(true);
    expect(await limiter.refund(taken)).toBe(2);
  });

  it('a wait that no timer holds, and a signal that is none', async () => {
    await expectTypeError(() => limiter.acquire('bucket', 'key', { maxWait: '25d' }), 'HEADGATE_BAD_CALL', 'at most 24 days', 'got "25d"');
    await expectTypeError(
      () => limiter.acquire('bucket', 'key', { maxWait: '1s', signal: wrong({ aborted: true }) }),
      'HEADGATE_BAD_CALL',
      'AbortSignal',
      'got an object',
    );
    expect(store.calls).toEqual([]);
  });

  it('any verb after the limiter was closed', async () => {
    const closed = createLimiter({ rules: { a: { limit: tokenBucket({ capacity: 1, refill: '1/s' }) } } });
    await closed.close();
    for (const call of [
      () => closed.check('a', 'key'),
      () => closed.checkAll([{ rule: 'a', key: 'key' }]),
      () => closed.peek('a', 'key'),
      () => closed.reserve('a', 'key'),
      () => closed.acquire('a', 'key', { maxWait: '1s' }),
      () => closed.reset('a', 'key'),
      () => closed.ban('a', 'key', '1s'),
      () => closed.unban('a', 'key'),
      () => closed.ready(),
    ]) {
      await expectTypeError(call, 'HEADGATE_CLOSED', 'closed');
    }
  });
});

describe('error codes', () => {
  it('a store that answers with an error, or holds what Headgate did not write, has a code of its own', async () => {
    const failing = createLimiter({
      store: {
        ...memoryStore(),
        local: wrong(undefined),
        ban: () => Promise.reject(new StoreError('no')),
        reset: () => Promise.reject(new StoreError('no', { code: 'HEADGATE_FOREIGN_VALUE' })),
      },
      rules: { a: { limit: tokenBucket({ capacity: 1, refill: '1/s' }) } },
    });
    expect(await thrownBy(() => failing.ban('a', 'key', '1s'))).toMatchObject({ name: 'StoreError', code: 'HEADGATE_STORE' });
    expect(await thrownBy(() => failing.reset('a', 'key'))).toMatchObject({ name: 'StoreError', code: 'HEADGATE_FOREIGN_VALUE' });
  });

  it('every code there is was raised above, and no other', () => {
    expect([...raised].sort()).toEqual(Object.keys(errorCodes).sort());
  });
});
