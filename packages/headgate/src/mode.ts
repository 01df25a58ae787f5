import { durationUs, type Duration } from './duration.js';
import { ConfigError, rejectUnknownOptions, show } from './errors.js';
import { millionth, type CountedLimit, type Limit } from './limit.js';

/**
 * How a rule counts on a shared store; with the memory store every rule is exact.
 *
 * - `'exact'` (default): each check is one atomic step in the store.
 * - `'lease'`: a process takes units in advance and spends them in memory, for at most a second. Windows and quotas are kept exactly;
 *   a bucket lets at most capacity + refill x (t + 1 s) pass in any interval t, and capacity + refill x t from an idle start.
 * - `'auto'`: exact while a key is calm, leased while it is hot in this process (100 checks a second).
 * - `{ sync: '1s' }`: counts locally and exchanges totals once in the interval, 10 ms to a twentieth of the window (of a bucket's time
 *   to full). With N processes at most limit x (1 + (N - 1) / 2N) pass in a window.
 */
export type Mode = 'exact' | 'lease' | 'auto' | { readonly sync: Duration };

/** A mode that counts locally, as the layers read it. */
export type LocalMode = 'lease' | 'auto' | { readonly syncUs: number };

const shortestSyncUs = 10_000;
/** Intervals in a window, at least: an overshoot is at most one interval's traffic. */
const intervalsInWindow = 20;

const periodsUs = { hour: 3_600e6, day: 86_400e6, week: 7 * 86_400e6, month: 28 * 86_400e6, year: 365 * 86_400e6 };

/** The window in microseconds, the shortest period, or a bucket's time to full. */
export function spanUs(limit: CountedLimit): number {
  switch (limit.kind) {
    case 'tokenBucket':
      return Math.floor((limit.capacity * millionth * limit.creditUs) / limit.creditUnits);
    case 'quota':
      return periodsUs[limit.period];
    case 'concurrency':
    case 'consecutiveFailures':
      return 0;
    default:
      return limit.windowUs;
  }
}

function readSync(where: string, mode: object, limits: readonly CountedLimit[]): LocalMode {
  rejectUnknownOptions(where, mode, ['sync']);
  const { sync } = mode as { sync?: unknown };
  const syncUs = durationUs(`${where}.sync`, sync);
  const bad = (why: string): ConfigError => new ConfigError('HEADGATE_BAD_OPTION', `${where}.sync: ${why}; got ${show(sync)}`);
  if (syncUs < shortestSyncUs) throw bad('at least 10ms');
  for (const limit of limits) {
    const most = Math.floor(spanUs(limit) / intervalsInWindow);
    const isZero = limit.kind === 'tokenBucket' ? limit.capacity === 0 : limit.limit === 0;
    if (syncUs > most && !isZero) {
      const of = limit.kind === 'tokenBucket' ? "the bucket's time to full" : 'the window';
      throw bad(`at most a twentieth of ${of}, ${most / 1000} ms; shorten it or use "lease"`);
    }
  }
  return Object.freeze({ syncUs });
}

/** What must reach the store check by check, and why. */
function mustBeExact(limits: readonly CountedLimit[], countRefused: boolean): string | undefined {
  if (countRefused) return 'countRefused counts each refusal in the store';
  if (limits.some(({ kind }) => kind === 'concurrency')) return '"concurrency" holds places, which cannot be taken in advance';
  if (limits.some(({ kind }) => kind === 'consecutiveFailures'))
    return '"consecutiveFailures" counts each attempt before its outcome is known';
  if (limits.some(({ kind }) => kind === 'slidingLog')) return '"slidingLog" remembers when each unit was taken';
  return undefined;
}

/**
 * Reads a rule's mode; undefined for exact.
 *
 * @throws ConfigError naming the rule, the value and the mend
 */
export function readMode(
  where: string,
  mode: unknown,
  { limits, countRefused }: { limits: readonly Limit[]; countRefused: boolean },
): LocalMode | undefined {
  if (mode === undefined || mode === 'exact') return undefined;
  const isSync = typeof mode === 'object' && mode !== null;
  if (mode !== 'lease' && mode !== 'auto' && !isSync) {
    throw new ConfigError('HEADGATE_BAD_OPTION', `${where}: expected "exact", "lease", "auto" or { sync: "1s" }; got ${show(mode)}`);
  }
  const counted = limits.filter((limit): limit is CountedLimit => limit.kind !== 'unlimited');
  const why = mustBeExact(counted, countRefused);
  if (why !== undefined) throw new ConfigError('HEADGATE_BAD_RULE', `${where}: only "exact" here, got ${show(mode)}: ${why}`);
  return mode === 'lease' || mode === 'auto' ? mode : readSync(where, mode, counted);
}
