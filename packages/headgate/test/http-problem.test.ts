import { describe, expect, it } from 'vitest';
import type { Decision, GroupDecision } from '../src/decision.js';
import { problem, problemContentType, problemOf, quotaExceeded, temporaryReducedCapacity } from '../src/http/index.js';

const refused = (rule: string, given: Partial<Decision> = {}): Decision => ({
  allowed: false,
  rule,
  key: '+41 79 123 45 67',
  cost: 1,
  limit: 5,
  remaining: 0,
  retryAfterMs: 1500,
  resetAfterMs: 60_000,
  reason: 'limited',
  source: 'store',
  degraded: false,
  shadow: false,
  wouldAllow: false,
  decidedAt: 0,
  ...given,
});
const passed = (rule: string): Decision => refused(rule, { allowed: true, wouldAllow: true, reason: 'ok', retryAfterMs: 0, remaining: 3 });
const away = (rule: string): Decision => refused(rule, { reason: 'store-unavailable', degraded: true, source: 'fallback' });

describe('the problem of a refusal', () => {
  it('is quota-exceeded with 429, naming the rules that refused and no others', () => {
    const group: GroupDecision = {
      ...refused('perIp'),
      decisions: [passed('search'), refused('perIp'), refused('login'), refused('login')],
    };
    expect(problemOf(group)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota exceeded',
      status: 429,
      detail: 'Too many requests; this one may pass in 2 s.',
      'violated-policies': ['perIp', 'login'],
    });
    expect(problemContentType).toBe('application/problem+json');
  });

  it('is undefined where nothing refused', () => {
    expect(problemOf(passed('search'))).toBeUndefined();
    expect(problemOf([])).toBeUndefined();
  });

  it('is temporary-reduced-capacity with 503 where only the absent store refuses', () => {
    expect(problemOf(away('login'))).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      status: 503,
      'violated-policies': ['login'],
    });
    expect(temporaryReducedCapacity([away('login'), passed('search')])['violated-policies']).toEqual(['login']);
  });

  it('is quota-exceeded where both happened, and does not accuse the client of what the store did', () => {
    expect(problemOf([away('login'), refused('perIp')])).toMatchObject({ status: 429, 'violated-policies': ['perIp'] });
  });

  it('promises no time where the request can never pass', () => {
    const never = refused('tokens', { reason: 'cost-above-limit', retryAfterMs: Infinity });
    expect(quotaExceeded(never).detail).toBe('This request costs more than its limit ever allows.');
  });

  it('never shows the key', () => {
    for (const decision of [refused('otp'), away('otp')]) expect(JSON.stringify(problemOf(decision))).not.toContain('41 79');
  });
});

describe('a problem of any kind', () => {
  it('has a status, a title, and pointers to what is wrong in the body', () => {
    expect(problem({ status: 400, title: 'Bad request', errors: [{ pointer: '/cost', detail: 'negative' }] })).toEqual({
      type: 'about:blank',
      title: 'Bad request',
      status: 400,
      errors: [{ pointer: '/cost', detail: 'negative' }],
    });
    expect(problem({ status: 404, title: 'No such rule', detail: 'x' })).not.toHaveProperty('errors');
  });

  it('refuses a status that is no error, and an empty title', () => {
    for (const status of [200, 399, 600, 429.5, NaN]) {
      expect(() => problem({ status, title: 'x' })).toThrow(
        expect.objectContaining({ code: 'HEADGATE_BAD_OPTION', message: expect.stringContaining(String(status)) as string }) as Error,
      );
    }
    expect(() => problem({ status: 400, title: '' })).toThrow(/title/);
  });
});
