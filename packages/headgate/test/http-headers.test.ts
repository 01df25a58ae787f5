import fc from 'fast-check';
import { parseList } from 'structured-headers';
import { describe, expect, it } from 'vitest';
import type { Decision, GroupDecision } from '../src/decision.js';
import { policyHeader, policyOf, rateLimitFields, rateLimitHeader, retryAfter } from '../src/http/index.js';
import {
  concurrency,
  consecutiveFailures,
  fixedWindow,
  quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
  unlimited,
  type Limit,
} from '../src/limit.js';
import { decision, refused } from './support/decisions.js';

const bucket = tokenBucket({ capacity: 20, refill: '2/s' });
const login = fixedWindow({ limit: 5, window: '1m' });

/** What a client reads: name, and parameters by key. */
const read = (field: string | undefined) =>
  parseList(field ?? '').map(([name, parameters]) => ({
    name,
    ...Object.fromEntries([...(parameters as Map<string, unknown>)]),
  })) as Record<string, unknown>[];

const state = (given: Partial<Decision>, limit: Limit = bucket) => read(rateLimitHeader([{ decision: decision(given), limit }]))[0];

describe('RateLimit-Policy', () => {
  const policy = (limit: Limit) => read(policyHeader([{ name: 'p', limit }]))[0];

  it('says how much in how long, in seconds rounded up', () => {
    expect(policy(bucket)).toEqual({ name: 'p', q: 20, w: 10 });
    expect(policy(tokenBucket({ capacity: 10, refill: '3/s' }))).toEqual({ name: 'p', q: 10, w: 4 });
    expect(policy(fixedWindow({ limit: 120, window: '1m' }))).toEqual({ name: 'p', q: 120, w: 60 });
    expect(policy(slidingWindow({ limit: 7, window: '1500ms' }))).toEqual({ name: 'p', q: 7, w: 2 });
    expect(policy(slidingLog({ limit: 100, window: '100ms' }))).toEqual({ name: 'p', q: 100, w: 1 });
  });

  it('names a window for a quota only where its length never changes', () => {
    expect(policy(quota({ limit: 9, period: 'hour', timeZone: 'Asia/Kathmandu' }))).toEqual({ name: 'p', q: 9, w: 3600 });
    expect(policy(quota({ limit: 9, period: 'week' }))).toEqual({ name: 'p', q: 9, w: 604_800 });
    expect(policy(quota({ limit: 9, period: 'day', timeZone: 'Europe/Zurich' }))).toEqual({ name: 'p', q: 9 });
    expect(policy(quota({ limit: 1_000_000, period: 'month' }))).toEqual({ name: 'p', q: 1_000_000 });
  });

  it('counts what is held at once in concurrent requests, without a window', () => {
    expect(policy(concurrency({ limit: 3, expires: '5m' }))).toEqual({ name: 'p', q: 3, qu: 'concurrent-requests' });
  });

  it('counts consecutive failures for as long as they are remembered', () => {
    expect(policy(consecutiveFailures())).toEqual({ name: 'p', q: 100, w: 34_560_000 });
  });

  it('makes one field of several, and none of unlimited rules', () => {
    expect(policyHeader([policyOf('a', login), policyOf('u', unlimited()), policyOf('b', bucket)])).toBe('"a";q=5;w=60, "b";q=20;w=10');
    expect(policyHeader([policyOf('u', unlimited())])).toBeUndefined();
    expect(policyHeader([])).toBeUndefined();
  });

  it('survives every name a rule can have, and refuses the others before they break the field', () => {
    const names = fc.string({
      unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(names, (name) => {
        expect(read(policyHeader([policyOf(name, login), policyOf('next', login)])).map((member) => member['name'])).toEqual(
          name === 'next' ? ['next'] : [name, 'next'],
        );
      }),
    );
    for (const name of ['', 'grün', 'a\r\nX: 1', 'x'.repeat(129)]) expect(() => policyOf(name, login)).toThrow(/policyOf.*printable ASCII/);
  });

  it('carries a partition key as a byte sequence', () => {
    const [member] = read(policyHeader([policyOf('p', login, { partitionKey: new Uint8Array([0, 255, 62]) })]));
    expect([...new Uint8Array(member?.['pk'] as ArrayBuffer)]).toEqual([0, 255, 62]);
  });
});

describe('RateLimit', () => {
  it('tells what is left, and until when a window has no more', () => {
    expect(state({ rule: 'login', remaining: 4, resetAfterMs: 59_001 }, login)).toEqual({ name: 'login', r: 4, t: 60 });
  });

  it('tells when a quota resets', () => {
    expect(state({ remaining: 4, resetAfterMs: 86_400_001 }, quota({ limit: 9, period: 'month' }))).toMatchObject({ t: 86_401 });
  });

  it('gives a bucket a pace that it keeps up with, however much is left', () => {
    expect(state({ remaining: 19, resetAfterMs: 500 })).toEqual({ name: 'search', r: 19, t: 10 });
    expect(state({ remaining: 1, resetAfterMs: 9_500 })).toMatchObject({ r: 1, t: 1 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 1, max: 500 }), fc.nat(), (capacity, perMinute, seed) => {
        const remaining = 1 + (seed % capacity);
        const limit = tokenBucket({ capacity, refill: `${perMinute}/m` });
        const { r, t } = state({ remaining, resetAfterMs: Math.ceil(((capacity - remaining) * 60_000) / perMinute) }, limit) as {
          r: number;
          t: number;
        };
        expect((t * perMinute) / 60).toBeGreaterThanOrEqual(r - 1e-9);
      }),
    );
  });

  it('tells an empty bucket when the next unit comes, also out of debt', () => {
    expect(state({ remaining: 0, resetAfterMs: 600_000 }, tokenBucket({ capacity: 10, refill: '1/m' }))).toEqual({
      name: 'search',
      r: 0,
      t: 60,
    });
    expect(state({ remaining: 0, resetAfterMs: 700_000 }, tokenBucket({ capacity: 10, refill: '1/m' }))).toEqual({
      name: 'search',
      r: 0,
      t: 160,
    });
  });

  it('gives no time for a concurrency limit that passes, since nobody knows when a holder is done', () => {
    expect(state({ remaining: 2, resetAfterMs: 300_000 }, concurrency({ limit: 3, expires: '5m' }))).toEqual({ name: 'search', r: 2 });
  });

  it('tells how many attempts may begin before the first wait, and of a refused one the wait', () => {
    const limit = consecutiveFailures({ firstWait: '30s', longestWait: '1h', forget: '400d' });
    const resetAfterMs = 34_560_000_000;
    expect(state({ remaining: 3, resetAfterMs }, limit)).toEqual({ name: 'search', r: 3, t: 30 });
    expect(state({ remaining: 0, resetAfterMs }, limit)).toEqual({ name: 'search', r: 0, t: 30 });
    expect(state({ remaining: 4, resetAfterMs: 0 }, limit)).toEqual({ name: 'search', r: 4, t: 30 });
    // Forgotten before a wait could end.
    expect(state({ remaining: 1, resetAfterMs: 5000 }, limit)).toEqual({ name: 'search', r: 1, t: 5 });
    const fields = rateLimitFields([{ decision: refused({ retryAfterMs: 119_001, resetAfterMs }), limit }]);
    expect(fields).toEqual({
      'RateLimit-Policy': '"search";q=100;w=34560000',
      RateLimit: '"search";r=0;t=120',
      'Retry-After': '120',
    });
    expect(state({ allowed: false, remaining: 4, retryAfterMs: Infinity, resetAfterMs: 0 }, limit)).toEqual({
      name: 'search',
      r: 4,
      t: 30,
    });
  });

  it('invents no numbers while the shared store is away', () => {
    const answers = [
      { decision: decision({ degraded: true, source: 'fallback', remaining: 3 }), limit: bucket },
      { decision: refused({ rule: 'login', degraded: true, reason: 'store-unavailable', retryAfterMs: 1000 }), limit: login },
      { decision: decision({ rule: 'other', reason: 'store-unavailable' }), limit: login },
    ];
    expect(rateLimitHeader(answers)).toBeUndefined();
    const fields = rateLimitFields(answers);
    expect(Object.keys(fields).sort()).toEqual(['RateLimit-Policy', 'Retry-After']);
    expect(fields['Retry-After']).toBe('1');
  });

  it('leaves out unlimited and shadow rules', () => {
    const answers = [
      { decision: decision({ rule: 'u', limit: Infinity, remaining: Infinity, resetAfterMs: 0 }), limit: unlimited() },
      { decision: decision({ rule: 's', shadow: true, wouldAllow: false, remaining: 0 }), limit: login },
    ];
    expect(rateLimitFields(answers)).toEqual({});
  });

  it('tells only the tightest of several keys of one rule, unless partition keys tell them apart', () => {
    const [a, b] = [decision({ remaining: 9, key: 'a' }), decision({ remaining: 2, key: 'b' })];
    expect(
      read(
        rateLimitHeader([
          { decision: a, limit: bucket },
          { decision: b, limit: bucket },
        ]),
      ).map((m) => m['r']),
    ).toEqual([2]);
    const apart = [
      { decision: a, limit: bucket, partitionKey: Buffer.from('a') },
      { decision: b, limit: bucket, partitionKey: Buffer.from('b') },
    ];
    expect(read(rateLimitHeader(apart)).map((m) => m['r'])).toEqual([9, 2]);
    expect(rateLimitHeader(apart)).not.toContain('key42');
  });

  it('tells each of several names of one limit', () => {
    const told = ['a', 'b "c"', 'a'].map((rule) => [
      policyHeader([policyOf(rule, login)]),
      rateLimitHeader([{ decision: decision({ rule, remaining: 3, resetAfterMs: 9000 }), limit: login }]),
    ]);
    const [a, b] = [
      ['"a";q=5;w=60', '"a";r=3;t=9'],
      [String.raw`"b \"c\"";q=5;w=60`, String.raw`"b \"c\"";r=3;t=9`],
    ];
    expect(told).toEqual([a, b, a]);
  });

  it('stays within the integers of structured fields', () => {
    expect(state({ remaining: 1e18, resetAfterMs: 1e24 }, login)).toEqual({
      name: 'search',
      r: 999_999_999_999_999,
      t: 999_999_999_999_999,
    });
  });
});

describe('Retry-After', () => {
  it('is absent while requests pass', () => {
    expect(retryAfter(decision())).toBeUndefined();
    expect(rateLimitFields([{ decision: decision(), limit: bucket }])).toEqual({
      'RateLimit-Policy': '"search";q=20;w=10',
      RateLimit: '"search";r=19;t=10',
    });
  });

  it('is whole seconds, rounded up, at least 1', () => {
    expect(retryAfter(refused({ retryAfterMs: 0 }))).toBe('1');
    expect(retryAfter(refused({ retryAfterMs: 1 }))).toBe('1');
    expect(retryAfter(refused({ retryAfterMs: 1000 }))).toBe('1');
    expect(retryAfter(refused({ retryAfterMs: 1001 }))).toBe('2');
  });

  it('is left out where the request can never pass', () => {
    const never = refused({ retryAfterMs: Infinity, reason: 'cost-above-limit', cost: 30, remaining: 20, resetAfterMs: 0 });
    expect(rateLimitFields([{ decision: never, limit: bucket }])).toEqual({
      'RateLimit-Policy': '"search";q=20;w=10',
      RateLimit: '"search";r=20;t=10',
    });
    expect(retryAfter([never, refused()])).toBeUndefined();
  });

  it('is the longest wait of two rules that refuse, with the fields of both', () => {
    const short = refused({ rule: 'perSecond', retryAfterMs: 1000 });
    const long = refused({ rule: 'perMinute', retryAfterMs: 60_000 });
    const group: GroupDecision = { ...long, decisions: [short, long, decision()] };
    expect(retryAfter(group)).toBe('60');
    const fields = rateLimitFields([
      { decision: short, limit: bucket },
      { decision: long, limit: login },
    ]);
    expect(fields['Retry-After']).toBe('60');
    expect(fields['RateLimit']).toBe('"perSecond";r=0;t=1, "perMinute";r=0;t=60');
  });

  it('never comes before the t of a rule that refused, nor before the wait itself', () => {
    const limits: Limit[] = [
      bucket,
      login,
      slidingLog({ limit: 9, window: '1m' }),
      quota({ limit: 9, period: 'month' }),
      concurrency({ limit: 3, expires: '5m' }),
      consecutiveFailures(),
    ];
    const answer = fc.record({
      limit: fc.constantFrom(...limits),
      retryAfterMs: fc.nat(1e8),
      extra: fc.nat(1e8),
      remaining: fc.nat(9),
      rule: fc.constantFrom('a', 'b'),
    });
    fc.assert(
      fc.property(fc.array(answer, { minLength: 1, maxLength: 4 }), (given) => {
        const fields = rateLimitFields(
          given.map(({ limit, extra, ...rest }) => ({ limit, decision: refused({ ...rest, resetAfterMs: rest.retryAfterMs + extra }) })),
        );
        const wait = Number(fields['Retry-After']);
        for (const member of read(fields['RateLimit'])) expect(wait).toBeGreaterThanOrEqual(member['t'] as number);
        for (const { retryAfterMs } of given) expect(wait * 1000).toBeGreaterThanOrEqual(retryAfterMs);
      }),
    );
  });
});
