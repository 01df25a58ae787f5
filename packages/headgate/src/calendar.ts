import type { Period, QuotaLimit } from './limit.js';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Zones whose formatter is kept; making one takes tens of microseconds. */
const mostZones = 64;
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  if (formats.size >= mostZones) formats.clear();
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  formats.set(timeZone, made);
  return made;
}

/** The wall clock of a zone at an instant, written as if it were UTC; both in milliseconds. */
function wallMs(timeZone: string, ms: number): number {
  if (timeZone === 'UTC') return ms;
  const part: Record<string, number> = {};
  for (const { type, value } of formatOf(timeZone).formatToParts(ms)) part[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((ms % 1000) + 1000) % 1000);
}

const offsetMs = (timeZone: string, ms: number): number => wallMs(timeZone, ms) - ms;

/** The first instant between `low` and `high` at which the zone's offset is no longer that of `low`. */
function transition(timeZone: string, low: number, high: number): number {
  const before = offsetMs(timeZone, low);
  let [from, to] = [low, high];
  while (to - from > 1) {
    const middle = Math.floor((from + to) / 2);
    if (offsetMs(timeZone, middle) === before) from = middle;
    else to = middle;
  }
  return to;
}

/** The first instant at which the wall clock shows `wall`; if it skips that, the first instant after the gap. */
function instantOf(timeZone: string, wall: number): number {
  if (timeZone === 'UTC') return wall;
  const before = offsetMs(timeZone, wall - dayMs);
  const after = offsetMs(timeZone, wall + dayMs);
  const early = wall - Math.max(before, after);
  const late = wall - Math.min(before, after);
  if (offsetMs(timeZone, wall - before) === before) return wall - before;
  if (offsetMs(timeZone, wall - after) === after) return wall - after;
  return transition(timeZone, early, late);
}

/** A month's day, or its last where it has fewer; months count on beyond the year. */
function dayOfMonth(year: number, month: number, day: number): number {
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(day, last));
}

/** Where, on the wall clock, the period begins that is `step` periods after the one that holds `wall`. */
function startOnWall({ period, billingDay }: QuotaLimit, wall: number, step: number): number {
  const date = new Date(wall);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  switch (period as Exclude<Period, 'hour'>) {
    case 'day':
      return Date.UTC(year, month, day + step);
    case 'week':
      return Date.UTC(year, month, day - ((date.getUTCDay() + 6) % 7) + 7 * step);
    case 'month': {
      const before = wall < dayOfMonth(year, month, billingDay) ? 1 : 0;
      return dayOfMonth(year, month - before + step, billingDay);
    }
    case 'year':
      return Date.UTC(year + step, 0, 1);
  }
}

/** Borders of the previous, current and next period, in microseconds since 1970. */
export type Borders = readonly [previousStart: number, start: number, nextStart: number, nextEnd: number];

function compute(limit: QuotaLimit, nowMs: number): Borders {
  const { timeZone } = limit;
  if (limit.period === 'hour') {
    const offset = offsetMs(timeZone, nowMs);
    const start = Math.floor((nowMs + offset) / hourMs) * hourMs - offset;
    return [start - hourMs, start, start + hourMs, start + 2 * hourMs].map((ms) => ms * 1000) as unknown as Borders;
  }
  const wall = wallMs(timeZone, nowMs);
  const at = (step: number): number => instantOf(timeZone, startOnWall(limit, wall, step)) * 1000;
  // A clock put back over midnight shows yesterday's date again: that instant is still of the day that has begun.
  const current = at(1) <= nowMs * 1000 ? 1 : 0;
  const [start, nextStart] = [at(current), at(current + 1)];
  return [otherThan(at, current, -1), start, nextStart, otherThan(at, current + 1, 1)];
}

/** The nearest border before or after that of `step`: a day that a zone skipped as a whole (Apia, 2011-12-30) is no period. */
function otherThan(at: (step: number) => number, step: number, by: 1 | -1): number {
  let other = step + by;
  while (at(other) === at(step)) other += by;
  return at(other);
}

/** A zone that shifts by half an hour moves the hours' borders too, so what was computed before may not hold after. */
function holdsThroughout({ period, timeZone }: QuotaLimit, [, start, nextStart]: Borders): boolean {
  if (period !== 'hour' || timeZone === 'UTC') return true;
  return (offsetMs(timeZone, nextStart / 1000 - 1) - offsetMs(timeZone, start / 1000)) % hourMs === 0;
}

const latest = new WeakMap<QuotaLimit, Borders>();

/**
 * The borders of the previous, current and next calendar period at an instant (microseconds since 1970), for a store whose clock
 * may differ a little. A local midnight that a clock change skips is the first instant that exists; a repeated one, its first.
 * Hours are 60 minutes long and begin where the zone's clock shows minute 0; across a shift of half an hour (Lord Howe) two of
 * them overlap or leave a gap. Borders are whole milliseconds. The last answer is kept per limit: asked again within the same
 * period, nothing is computed.
 */
export function bordersAt(limit: QuotaLimit, nowUs: number): Borders {
  const known = latest.get(limit);
  if (known !== undefined && nowUs >= known[1] && nowUs < known[2]) return known;
  const borders = compute(limit, Math.floor(nowUs / 1000));
  if (holdsThroughout(limit, borders)) latest.set(limit, borders);
  return borders;
}

/**
 * The calendar period that holds an instant: `startUs` <= now < `endUs`, in microseconds since 1970.
 *
 * @param nowUs - microseconds since 1970, such as a decision's `decidedAt`
 * @example
 * ```ts
 * import { periodAt, quota } from 'headgate';
 *
 * const { endUs } = periodAt(quota({ limit: 1_000_000, period: 'month' }), Date.parse('2026-05-14') * 1000);
 * new Date(endUs / 1000).toISOString(); // '2026-06-01T00:00:00.000Z'
 * ```
 */
export function periodAt(limit: QuotaLimit, nowUs: number): { startUs: number; endUs: number } {
  const [, startUs, endUs] = bordersAt(limit, nowUs);
  return { startUs, endUs };
}
