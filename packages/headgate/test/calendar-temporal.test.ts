import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, it } from 'vitest';
import { periodAt } from '../src/calendar.js';
import { quota, type Period } from '../src/limit.js';

/** Daylight saving in both halves of the year, half hours and three quarters, midnights that are skipped, a day that was skipped, no change at all. */
const zones = [
  ...['UTC', 'Europe/Zurich', 'America/New_York', 'Australia/Sydney', 'Asia/Kolkata', 'Asia/Kathmandu', 'Australia/Lord_Howe'],
  ...['America/St_Johns', 'Africa/Cairo', 'Asia/Beirut', 'America/Sao_Paulo', 'America/Asuncion', 'Pacific/Apia', 'Pacific/Kiritimati'],
  ...['Africa/Casablanca', 'Asia/Tehran', 'America/Santiago', 'Antarctica/Troll', 'Pacific/Chatham'],
] as const;

const lastDay = (date: Temporal.PlainDate, day: number): Temporal.PlainDate => date.with({ day: Math.min(day, date.daysInMonth) });

/** The dates on which the period of a date begins, and the next. */
function datesOf(date: Temporal.PlainDate, period: Exclude<Period, 'hour'>, billingDay: number): [Temporal.PlainDate, Temporal.PlainDate] {
  if (period === 'day') return [date, date.add({ days: 1 })];
  if (period === 'week') {
    const monday = date.subtract({ days: date.dayOfWeek - 1 });
    return [monday, monday.add({ days: 7 })];
  }
  if (period === 'year') {
    const first = date.with({ month: 1, day: 1 });
    return [first, first.add({ years: 1 })];
  }
  const first = date.with({ day: 1 });
  const here = lastDay(first, billingDay);
  if (Temporal.PlainDate.compare(date, here) >= 0) return [here, lastDay(first.add({ months: 1 }), billingDay)];
  return [lastDay(first.subtract({ months: 1 }), billingDay), here];
}

const startUs = (date: Temporal.PlainDate, timeZone: string): number => date.toZonedDateTime({ timeZone }).epochMilliseconds * 1000;

describe('calendar periods', () => {
  it.each(['day', 'week', 'month', 'year'] as const)('of a %s are those of Temporal, in every kind of zone', (period) => {
    const instants = fc.integer({ min: Date.UTC(2005, 0, 1), max: Date.UTC(2060, 0, 1) });
    fc.assert(
      fc.property(instants, fc.constantFrom(...zones), fc.integer({ min: 1, max: 31 }), (ms, timeZone, billingDay) => {
        const limit = quota({ limit: 1, period, timeZone, ...(period === 'month' && { billingDay }) });
        const date = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timeZone).toPlainDate();
        const [from, to] = datesOf(date, period, billingDay).map((one) => startUs(one, timeZone));
        expect(periodAt(limit, ms * 1000)).toMatchObject({ startUs: from, endUs: to });
      }),
      { numRuns: 3000 },
    );
  });
});
