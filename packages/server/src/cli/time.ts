const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** A wait as a person reads it, rounded up: who comes back then is not early. Null: it never ends. */
export function showWait(ms: number | null): string {
  if (ms === null) return 'never';
  const [unit, length] = units.find(([, least]) => ms >= least) ?? ['ms', 1];
  const tenths = Math.ceil((ms / length) * 10) / 10;
  return `${unit === 'ms' || tenths >= 10 ? Math.ceil(ms / length) : tenths} ${unit}`;
}

/** An instant to the second, in UTC. */
export const showTime = (time: number | string): string =>
  new Date(time)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z');
