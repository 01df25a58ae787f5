import { ConfigError, show } from './errors.js';

type Unit = 'ms' | 's' | 'm' | 'h' | 'd' | 'w';

/**
 * A length of time: a whole number of milliseconds, or a number with a unit (`ms`, `s`, `m`, `h`, `d`, `w`).
 * Months and years have no fixed length; they belong to {@link quota}.
 *
 * @example
 * ```ts
 * import type { Duration } from 'headgate';
 *
 * const window: Duration = '1.5s'; // the same as 1500
 * ```
 */
export type Duration = number | `${number}${Unit}`;

/**
 * Units per length of time: `'2/s'`, `'120/m'`, `'5/10s'`, `'1/30d'`.
 */
export type Rate = `${number}/${'' | number}${Unit}`;

const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Ten years of 365.25 days, in microseconds: no window, refill or time to full may be longer. */
export const longestUs = 315_576_000_000_000;

const badDuration = (where: string, value: unknown, why: string): ConfigError =>
  new ConfigError(
    'HEADGATE_BAD_DURATION',
    `${where}: ${why}; got ${show(value)}; write a whole number of milliseconds or text such as "10s", "1.5s", "1m", "1d"`,
  );

/** Reads a duration of 1 ms to ten years into microseconds. `where` names the option in the ConfigError. */
export function durationUs(where: string, value: unknown): number {
  let ms: number;
  if (typeof value === 'number') ms = value;
  else if (typeof value === 'string') {
    const match = /^(\d{1,15}(?:\.\d{1,6})?)(ms|s|m|h|d|w)$/.exec(value);
    if (!match) throw badDuration(where, value, 'not a duration');
    // Rounded to the nanosecond first: 1.1 * 1000 is 1100.0000000000002.
    ms = Math.round(Number(match[1]) * (unitMs[match[2] ?? ''] ?? Number.NaN) * 1e6) / 1e6;
  } else throw badDuration(where, value, 'not a duration');
  if (!Number.isInteger(ms)) throw badDuration(where, value, 'not a whole number of milliseconds');
  if (ms < 1) throw badDuration(where, value, 'shorter than 1 ms');
  const us = ms * 1000;
  if (us > longestUs) throw badDuration(where, value, 'longer than ten years');
  return us;
}

/** Reads a rate into whole units per microseconds. `where` names the option in the ConfigError. */
export function parseRate(where: string, value: unknown): { units: number; perUs: number } {
  const fail = (why: string): ConfigError =>
    new ConfigError(
      'HEADGATE_BAD_RATE',
      `${where}: ${why}; got ${show(value)}; write units per time such as "2/s", "120/m", "5/10s", "1/30d"`,
    );
  if (typeof value !== 'string') throw fail('not a rate');
  const match = /^(\d{1,16})\/(\d{0,15}(?:\.\d{1,6})?)(ms|s|m|h|d|w)$/.exec(value);
  if (!match) throw fail('not a rate of whole units');
  const units = Number(match[1]);
  if (units < 1) throw fail('refills nothing');
  if (units > 9e9) throw fail('more than 9e9 units');
  return { units, perUs: durationUs(where, `${match[2] === '' ? '1' : match[2]}${match[3]}`) };
}
