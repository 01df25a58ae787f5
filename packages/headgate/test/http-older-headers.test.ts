import fc from 'fast-check';
import { parseDictionary, parseList } from 'structured-headers';
import { describe, expect, it } from 'vitest';
import type { Decision } from '../src/decision.js';
import { headerFormats, rateLimitFields, type HeaderFormat } from '../src/http/index.js';
import { concurrency, fixedWindow, quota, tokenBucket, unlimited, type Limit } from '../src/limit.js';
import { decision as someDecision, refused as someRefused } from './support/decisions.js';

const bucket = tokenBucket({ capacity: 20, refill: '2/s' });
const login = fixedWindow({ limit: 5, window: '1m' });

/** Half way between two seconds: what is rounded, and how, shows. */
const at = { decidedAt: 1_767_225_600_900_000 };
const decision = (given: Partial<Decision> = {}): Decision => someDecision({ ...at, ...given });
const refused = (given: Partial<Decision> = {}): Decision => someRefused({ ...at, ...given });

const passing = [
  { decision: decision(), limit: bucket },
  { decision: decision({ rule: 'login', limit: 5, remaining: 4, resetAfterMs: 59_001 }), limit: login },
];
const fields = (format: HeaderFormat, answers: Parameters<typeof rateLimitFields>[0] = passing) => rateLimitFields(answers, [format]);

describe('older formats', () => {
  it('draft 6 tells the binding rule in three fields, and all policies', () => {
    expect(fields('draft-6')).toEqual({
      'RateLimit-Policy': '20;w=10, 5;w=60',
      'RateLimit-Limit': '5',
      'RateLimit-Remaining': '4',
      'RateLimit-Reset': '60',
    });
  });

  it('draft 7 tells the same in one dictionary', () => {
    const { RateLimit = '' } = fields('draft-7');
    expect([...parseDictionary(RateLimit)].map(([key, [value]]) => [key, value])).toEqual([
      ['limit', 5],
      ['remaining', 4],
      ['reset', 60],
    ]);
  });

  it('draft 8 names each rule, with the time until its reset', () => {
    expect(fields('draft-8')).toEqual({
      'RateLimit-Policy': '"search";q=20;w=10, "login";q=5;w=60',
      RateLimit: '"search";r=19;t=1, "login";r=4;t=60',
    });
  });

  it('X-RateLimit-* tells the binding rule, its reset in seconds or since 1970', () => {
    expect(fields('x-ratelimit')).toEqual({ 'X-RateLimit-Limit': '5', 'X-RateLimit-Remaining': '4', 'X-RateLimit-Reset': '60' });
    expect(fields('x-ratelimit-epoch')['X-RateLimit-Reset']).toBe('1767225660');
  });

  it('of a refusal the reset is the wait, and Retry-After is never before it', () => {
    const answers = [{ decision: refused(), limit: bucket }];
    expect(fields('draft-7', answers)).toMatchObject({ RateLimit: 'limit=20, remaining=0, reset=1', 'Retry-After': '1' });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e8 }), fc.integer({ min: 0, max: 2e6 }), (retryAfterMs, us) => {
        const decidedAt = 1_767_225_600_000_000 + us;
        const told = [{ decision: refused({ retryAfterMs, decidedAt }), limit: bucket }];
        const retryAt = (format: HeaderFormat) => decidedAt / 1e6 + Number(fields(format, told)['Retry-After']);
        expect(retryAt('x-ratelimit-epoch')).toBeGreaterThanOrEqual(Number(fields('x-ratelimit-epoch', told)['X-RateLimit-Reset']));
        expect(retryAt('x-ratelimit-epoch')).toBeGreaterThanOrEqual(decidedAt / 1e6 + retryAfterMs / 1000);
        expect(Number(fields('x-ratelimit', told)['Retry-After'])).toBe(Number(fields('x-ratelimit', told)['X-RateLimit-Reset']));
        expect(fields('draft-6', told)['RateLimit-Reset']).toBe(fields('draft-6', told)['Retry-After']);
      }),
    );
  });

  it('of several rules that refuse, the reset is that of the longest wait', () => {
    const answers = [
      { decision: refused({ retryAfterMs: 1000 }), limit: bucket },
      { decision: refused({ rule: 'login', limit: 5, retryAfterMs: 60_000 }), limit: login },
    ];
    for (const format of ['x-ratelimit', 'x-ratelimit-epoch', 'draft-6'] as const)
      expect(Number(fields(format, answers)['Retry-After'])).toBeGreaterThanOrEqual(60);
    expect(fields('x-ratelimit', answers)).toMatchObject({ 'X-RateLimit-Limit': '5', 'X-RateLimit-Reset': '60' });
  });

  it('tell no state where the binding rule was decided without the store, rather than that of another', () => {
    const answers = [{ decision: refused({ rule: 'down', reason: 'store-unavailable', degraded: true }), limit: login }, ...passing];
    expect(fields('draft-6', answers)).toEqual({ 'RateLimit-Policy': '5;w=60, 20;w=10', 'Retry-After': '1' });
    expect(fields('x-ratelimit', answers)).toEqual({ 'Retry-After': '1' });
  });

  it('tell no reset that nobody knows', () => {
    const held = [{ decision: decision({ limit: 3, remaining: 2 }), limit: concurrency({ limit: 3, expires: '5m' }) }];
    expect(fields('draft-6', held)).toEqual({});
    expect(fields('draft-7', held)).toEqual({});
    expect(fields('x-ratelimit', held)).toEqual({ 'X-RateLimit-Limit': '3', 'X-RateLimit-Remaining': '2' });
  });

  it('leave out what has no window, no limit, or only observes', () => {
    const monthly = {
      decision: decision({ limit: 9, remaining: 8, resetAfterMs: 86_400_000 }),
      limit: quota({ limit: 9, period: 'month' }),
    };
    expect(fields('draft-6', [monthly])).toEqual({ 'RateLimit-Limit': '9', 'RateLimit-Remaining': '8', 'RateLimit-Reset': '86400' });
    const free = { decision: decision({ limit: Infinity, remaining: Infinity, resetAfterMs: 0 }), limit: unlimited() as Limit };
    const shadow = { decision: decision({ shadow: true, wouldAllow: false }), limit: bucket };
    for (const format of ['draft-6', 'draft-7', 'draft-8', 'x-ratelimit'] as const) expect(fields(format, [free, shadow])).toEqual({});
  });

  it('may stand beside one another only where they write different fields', () => {
    expect(headerFormats('draft-7')).toEqual(['draft-7']);
    expect(headerFormats(['draft-11', 'x-ratelimit-epoch'])).toEqual(['draft-11', 'x-ratelimit-epoch']);
    const both = rateLimitFields(passing, ['draft-11', 'x-ratelimit']);
    expect(Object.keys(both)).toEqual(['RateLimit-Policy', 'RateLimit', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']);
    expect(parseList(both['RateLimit'] ?? '')).toHaveLength(2);
    for (const wrong of [['draft-11', 'draft-6'], ['x-ratelimit', 'x-ratelimit-epoch'], 'draft-12', 'toString', 3, null, [undefined]])
      expect(() => headerFormats(wrong as HeaderFormat)).toThrow(expect.objectContaining({ code: 'HEADGATE_BAD_OPTION' }) as Error);
  });
});
