import { describe, expect, it } from 'vitest';
import { waitSaid } from '../src/outbound/said.js';

const now = Date.UTC(2026, 0, 1);
const said = (status: number, headers: Record<string, string>): number | undefined =>
  waitSaid({ status, headers: new Headers(headers) }, now);

describe('what an answer says of waiting', () => {
  it.each([
    ['seconds', { 'retry-after': '7' }, 7000],
    ['a date', { 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, 30_000],
    ['a date in the past', { 'retry-after': 'Wed, 31 Dec 2025 23:59:00 GMT' }, 0],
    ["a date by the partner's own clock", { date: 'Thu, 01 Jan 2026 06:00:00 GMT', 'retry-after': 'Thu, 01 Jan 2026 06:00:05 GMT' }, 5000],
    ['Retry-After before all others', { 'retry-after': '2', ratelimit: '"a";r=0;t=60', 'x-ratelimit-reset': '90' }, 2000],
    ['draft 11', { ratelimit: '"a";r=0;t=30' }, 30_000],
    [
      'draft 11 of several limits: the longest of those used up',
      { ratelimit: '"a";r=0;t=3, "b\\"r=0;t=9";r=5;t=60;pk=:AAA=:, c;t=8;r=0' },
      8000,
    ],
    ['draft 7', { ratelimit: 'limit=10, remaining=0, reset=12' }, 12_000],
    ['draft 6', { 'ratelimit-limit': '10', 'ratelimit-remaining': '0', 'ratelimit-reset': '4' }, 4000],
    ['seconds of X-RateLimit', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1.5' }, 1500],
    ['a moment in seconds', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now / 1000 + 11) }, 11_000],
    ['a moment in milliseconds', { 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': String(now + 1234) }, 1234],
    ['a date of X-RateLimit', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '2026-01-01T00:01:00Z' }, 60_000],
    ['units', { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1m2.5s' }, 62_500],
    [
      'of two budgets the one that is used up',
      {
        'x-ratelimit-remaining-requests': '9',
        'x-ratelimit-reset-requests': '59s',
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '12ms',
      },
      12,
    ],
    ['a span before a moment', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1', 'x-ratelimit-reset-after': '0.25' }, 250],
    ['a reset alone, of a refusal', { 'x-ratelimit-reset': '6' }, 6000],
  ] as const)('reads %s', (_, headers, ms) => {
    expect(said(429, headers)).toBe(ms);
  });

  it('also of a success that leaves nothing', () => {
    expect(said(200, { ratelimit: '"a";r=0;t=30' })).toBe(30_000);
    expect(said(403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '5' })).toBe(5000);
    expect(said(200, { 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '5' })).toBeUndefined();
    expect(said(200, { 'x-ratelimit-reset': '5' })).toBeUndefined();
    expect(said(200, { 'retry-after': '5' })).toBeUndefined();
  });

  it.each([
    ['text', { 'retry-after': 'soon' }],
    ['a negative number', { 'retry-after': '-5' }],
    ['more digits than any time has', { 'retry-after': '1'.repeat(16) }],
    ['what Date.parse alone would read', { 'retry-after': 'Room 5' }],
    ['-1, as of budgets that are not kept', { 'x-ratelimit-remaining': '-1', 'x-ratelimit-reset': '-1' }],
    ['a member without numbers', { ratelimit: '"a";r;t=5, "b";t=5' }],
    ['nothing', {}],
  ])('says nothing by %s', (_, headers) => {
    expect(said(429, headers as Record<string, string>)).toBeUndefined();
  });

  it('takes no longer for a field made to be slow', () => {
    for (const value of ['"a;'.repeat(5000), 'a;'.repeat(8000), '"a";r="'.repeat(2000), 'a'.repeat(16_000), 'limit=1,'.repeat(2000)])
      expect(said(429, { ratelimit: value, 'x-ratelimit-reset': '1s'.repeat(8000) + 'x' })).toBeUndefined();
  });
});
