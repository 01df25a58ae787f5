import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bordersAt, periodAt } from '../src/calendar.js';
import { quota, type Period } from '../src/limit.js';

const us = (iso: string): number => Date.parse(iso) * 1000;
const iso = (at: number): string => new Date(at / 1000).toISOString().replace('.000Z', 'Z');

/** The period around an instant, as UTC text. */
function around(at: string, period: Period, timeZone = 'UTC', billingDay?: number): [string, string] {
  const limit = quota({ limit: 1, period, timeZone, ...(billingDay === undefined ? undefined : { billingDay }) });
  const { startUs, endUs } = periodAt(limit, us(at));
  return [iso(startUs), iso(endUs)];
}

const hours = ([start, end]: [string, string]): number => (us(end) - us(start)) / 3.6e9;

describe('calendar periods in UTC', () => {
  it('begin at the full hour, at midnight, on Monday, on the first, on January 1st', () => {
    const at = '2026-05-14T15:16:17.123Z';
    expect(around(at, 'hour')).toEqual(['2026-05-14T15:00:00Z', '2026-05-14T16:00:00Z']);
    expect(around(at, 'day')).toEqual(['2026-05-14T00:00:00Z', '2026-05-15T00:00:00Z']);
    expect(around(at, 'week')).toEqual(['2026-05-11T00:00:00Z', '2026-05-18T00:00:00Z']);
    expect(around(at, 'month')).toEqual(['2026-05-01T00:00:00Z', '2026-06-01T00:00:00Z']);
    expect(around(at, 'year')).toEqual(['2026-01-01T00:00:00Z', '2027-01-01T00:00:00Z']);
  });

  it('hold their first instant, and not their end', () => {
    expect(around('2026-05-14T00:00:00Z', 'day')[0]).toBe('2026-05-14T00:00:00Z');
    expect(around('2026-05-13T23:59:59.999Z', 'day')[1]).toBe('2026-05-14T00:00:00Z');
    const limit = quota({ limit: 1, period: 'day' });
    const midnight = us('2026-05-14T00:00:00Z');
    expect(periodAt(limit, midnight - 1).endUs).toBe(midnight);
    expect(periodAt(limit, midnight).startUs).toBe(midnight);
  });

  it('let a week run over the new year', () => {
    expect(around('2026-12-31T12:00:00Z', 'week')).toEqual(['2026-12-28T00:00:00Z', '2027-01-04T00:00:00Z']);
    expect(around('2027-01-03T23:59:59Z', 'week')).toEqual(['2026-12-28T00:00:00Z', '2027-01-04T00:00:00Z']);
  });

  it('begin a month of billing day 31 on the last day of a shorter month', () => {
    expect(around('2026-02-27T00:00:00Z', 'month', 'UTC', 31)).toEqual(['2026-01-31T00:00:00Z', '2026-02-28T00:00:00Z']);
    expect(around('2026-02-28T00:00:00Z', 'month', 'UTC', 31)).toEqual(['2026-02-28T00:00:00Z', '2026-03-31T00:00:00Z']);
    expect(around('2028-02-28T23:00:00Z', 'month', 'UTC', 31)).toEqual(['2028-01-31T00:00:00Z', '2028-02-29T00:00:00Z']);
    expect(around('2028-03-01T00:00:00Z', 'month', 'UTC', 31)).toEqual(['2028-02-29T00:00:00Z', '2028-03-31T00:00:00Z']);
    expect(around('2026-05-01T00:00:00Z', 'month', 'UTC', 31)).toEqual(['2026-04-30T00:00:00Z', '2026-05-31T00:00:00Z']);
  });

  it('take billing day 30 and 15 by the same rule, over the new year too', () => {
    expect(around('2100-02-28T00:00:00Z', 'month', 'UTC', 30)).toEqual(['2100-02-28T00:00:00Z', '2100-03-30T00:00:00Z']);
    expect(around('2027-01-02T00:00:00Z', 'month', 'UTC', 15)).toEqual(['2026-12-15T00:00:00Z', '2027-01-15T00:00:00Z']);
  });
});

describe('calendar periods in a time zone', () => {
  it('are 23 hours long when the clock goes forward and 25 when it goes back (Zurich)', () => {
    const spring = around('2026-03-29T12:00:00Z', 'day', 'Europe/Zurich');
    expect(spring).toEqual(['2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z']);
    expect(hours(spring)).toBe(23);
    const autumn = around('2026-10-25T12:00:00Z', 'day', 'Europe/Zurich');
    expect(autumn).toEqual(['2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z']);
    expect(hours(autumn)).toBe(25);
    expect(around('2026-10-31T23:30:00Z', 'month', 'Europe/Zurich')).toEqual(['2026-10-31T23:00:00Z', '2026-11-30T23:00:00Z']);
  });

  it('begin at the first instant there is, where midnight is skipped (São Paulo, Cairo, Beirut)', () => {
    // 23:59:59 on the 3rd is followed by 01:00 on the 4th.
    expect(around('2018-11-04T12:00:00Z', 'day', 'America/Sao_Paulo')).toEqual(['2018-11-04T03:00:00Z', '2018-11-05T02:00:00Z']);
    expect(around('2018-11-04T02:59:59Z', 'day', 'America/Sao_Paulo')).toEqual(['2018-11-03T03:00:00Z', '2018-11-04T03:00:00Z']);
    expect(around('2024-04-26T12:00:00Z', 'day', 'Africa/Cairo')).toEqual(['2024-04-25T22:00:00Z', '2024-04-26T21:00:00Z']);
    expect(around('2024-03-31T12:00:00Z', 'day', 'Asia/Beirut')).toEqual(['2024-03-30T22:00:00Z', '2024-03-31T21:00:00Z']);
  });

  it('give the hour that is lived twice before midnight to the old day (Beirut)', () => {
    // Midnight becomes 23:00 of the 26th: that hour comes twice, midnight once.
    expect(around('2024-10-26T21:30:00Z', 'day', 'Asia/Beirut')).toEqual(['2024-10-25T21:00:00Z', '2024-10-26T22:00:00Z']);
  });

  it('begin at the first of two midnights, and stay in that day while the clock shows the old one again (St. Johns)', () => {
    // One minute past midnight the clock went back to 23:01 of the day before.
    const [start, end] = around('2006-10-29T12:00:00Z', 'day', 'America/St_Johns');
    expect([start, end]).toEqual(['2006-10-29T02:30:00Z', '2006-10-30T03:30:00Z']);
    expect(around('2006-10-29T02:45:00Z', 'day', 'America/St_Johns')).toEqual([start, end]);
    expect(around('2006-10-29T02:29:59Z', 'day', 'America/St_Johns')[1]).toBe(start);
  });

  it('leave a day out that never was (Apia, 2011-12-30), and call nothing a period that has no length', () => {
    expect(around('2011-12-30T09:59:59Z', 'day', 'Pacific/Apia')).toEqual(['2011-12-29T10:00:00Z', '2011-12-30T10:00:00Z']);
    expect(around('2011-12-30T10:00:00Z', 'day', 'Pacific/Apia')).toEqual(['2011-12-30T10:00:00Z', '2011-12-31T10:00:00Z']);
    const limit = quota({ limit: 1, period: 'day', timeZone: 'Pacific/Apia' });
    for (const at of ['2011-12-29T12:00:00Z', '2011-12-30T12:00:00Z']) {
      const borders = bordersAt(limit, us(at));
      expect([...borders].sort((a, b) => a - b)).toEqual([...borders]);
      expect(new Set(borders).size).toBe(4);
    }
  });

  it('begin an hour where the local clock shows minute 0 (Kathmandu is 5:45 ahead)', () => {
    expect(around('2026-05-14T15:16:00Z', 'hour', 'Asia/Kathmandu')).toEqual(['2026-05-14T15:15:00Z', '2026-05-14T16:15:00Z']);
    expect(around('2026-05-14T15:14:59Z', 'hour', 'Asia/Kathmandu')).toEqual(['2026-05-14T14:15:00Z', '2026-05-14T15:15:00Z']);
  });

  it('say the same in every process across a shift of half an hour, whatever was asked before (Caracas, Lord Howe)', () => {
    for (const [timeZone, shift] of [
      ['America/Caracas', '2016-05-01T07:00:00Z'],
      ['Australia/Lord_Howe', '2026-04-04T15:00:00Z'],
    ] as const) {
      const warm = quota({ limit: 1, period: 'hour', timeZone });
      for (let at = us(shift) - 7.2e9; at < us(shift) + 7.2e9; at += 3e8) {
        const fresh = quota({ limit: 1, period: 'hour', timeZone });
        expect(periodAt(warm, at)).toEqual(periodAt(fresh, at));
      }
    }
  });
});

const zones = [
  'UTC',
  'Europe/Zurich',
  'America/Sao_Paulo',
  'America/St_Johns',
  'Africa/Cairo',
  'Asia/Beirut',
  'Asia/Kathmandu',
  'Pacific/Apia',
  'Australia/Lord_Howe',
  'America/New_York',
  'Asia/Tehran',
  'Pacific/Kiritimati',
  'Pacific/Kwajalein',
  'Africa/Casablanca',
  'Antarctica/Troll',
];
const instants = fc.integer({ min: us('1971-01-01T00:00:00Z') / 1e6, max: us('2100-01-01T00:00:00Z') / 1e6 }).map((s) => s * 1e6);
const billingDays = fc.integer({ min: 1, max: 31 });

describe('calendar periods at any instant', () => {
  it('tile: each ends where the next begins, and the borders name them', () => {
    const period = fc.constantFrom<Period>('day', 'week', 'month', 'year');
    fc.assert(
      fc.property(instants, fc.constantFrom(...zones), period, billingDays, (at, timeZone, chosen, billingDay) => {
        const options = { limit: 1, period: chosen, timeZone, ...(chosen === 'month' ? { billingDay } : undefined) };
        const [previous, start, next, nextEnd] = bordersAt(quota(options), at);
        expect(start).toBeLessThanOrEqual(at);
        expect(at).toBeLessThan(next);
        expect(periodAt(quota(options), start)).toEqual({ startUs: start, endUs: next });
        expect(periodAt(quota(options), next - 1)).toEqual({ startUs: start, endUs: next });
        expect(periodAt(quota(options), next)).toEqual({ startUs: next, endUs: nextEnd });
        expect(periodAt(quota(options), start - 1)).toEqual({ startUs: previous, endUs: start });
      }),
      { numRuns: 2000 },
    );
  });

  it('hold that instant, in whole microseconds, and hours are 60 minutes', () => {
    fc.assert(
      fc.property(instants, fc.constantFrom(...zones), (at, timeZone) => {
        const { startUs, endUs } = periodAt(quota({ limit: 1, period: 'hour', timeZone }), at);
        expect(endUs - startUs).toBe(3_600_000_000);
        expect(startUs <= at && at < endUs && Number.isSafeInteger(startUs)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('agree between a limit that was asked before and one that was not', () => {
    const warm = quota({ limit: 1, period: 'month', timeZone: 'Europe/Zurich', billingDay: 31 });
    fc.assert(
      fc.property(instants, (at) => {
        const fresh = quota({ limit: 2, period: 'month', timeZone: 'Europe/Zurich', billingDay: 31 });
        expect(bordersAt(warm, at)).toEqual(bordersAt(fresh, at));
        expect(bordersAt(warm, at)).toBe(bordersAt(warm, at + 1));
      }),
      { numRuns: 300 },
    );
  });
});
