import { gaugesOf } from './gauges.mjs';

const MB = 2 ** 20;
const parts = 5;

/**
 * What must stay flat, by the beginning of its name, and by how much its median may be higher in the last fifth of the run than in the second,
 * after the warm-up: by a `share` of what it was, or by `noise` where that is more, and by `most` at the most; else not at all.
 */
const bounds = [
  { name: 'heap', title: 'heap', share: 0.1, most: 5 * MB, unit: MB },
  { name: 'external', title: 'outside the heap', share: 0.1, most: 5 * MB, unit: MB },
  { name: 'rss', title: 'RSS', share: 0.15, unit: MB },
  { name: 'handles', title: 'active' },
  { name: 'census timers', title: 'timers in memory', noise: 3 },
  { name: 'census emitters', title: 'event emitters in memory' },
  { name: 'census promises', title: 'promises in memory', share: 0.1, most: 100 },
  { name: 'clientListeners', title: "listeners on the app's client" },
  { name: 'signalListeners', title: "listeners on the app's signal" },
  { name: 'processListeners', title: 'listeners on the process' },
  { name: 'remains', title: 'let go, in memory:' },
  { name: 'notes', title: 'notes', share: 0.1, noise: 100 },
  { name: 'localKeys', title: 'keys counted locally', share: 0.1, noise: 100 },
  { name: 'owing', title: 'keys owing' },
  { name: 'redis memory', title: 'Redis memory', share: 0.1, unit: MB },
  { name: 'redis keys', title: 'Redis keys', share: 0.1, noise: 300 },
  { name: 'redis connections', title: 'Redis connections' },
  { name: 'redis blocked', title: 'blocked connections' },
];

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const inPart = (samples, part, totalMs) =>
  samples.filter(({ atMs }) => Math.min(parts - 1, Math.floor((atMs * parts) / totalMs)) === part).map(gaugesOf);

/** What is not there in a sample is 0, unless it was not counted. */
const valuesOf = (part, name) => part.flatMap((gauges) => (name.startsWith('census ') && !gauges.has(name) ? [] : [gauges.get(name) ?? 0]));

/** A row for each gauge: its median in the second and the last fifth, and whether it grew. */
export function flatness({ samples, totalMs }) {
  const [early, late] = [inPart(samples, 1, totalMs), inPart(samples, parts - 1, totalMs)];
  if (![early, late].every((part) => valuesOf(part, 'census timers').length > 0)) throw new Error('too few samples to compare');
  const names = [...new Set([...early, ...late].flatMap((gauges) => [...gauges.keys()]))];
  return bounds.flatMap(({ name: start, title, share = 0, noise = 0, most = Infinity, unit = 1 }) =>
    names
      .filter((name) => name === start || name.startsWith(`${start} `))
      .map((name) => {
        const of = (part) => median(valuesOf(part, name));
        const [before, after] = [of(early), of(late)];
        const ok = after - before <= Math.min(most, Math.max(noise, before * share));
        return { what: `${title}${name.slice(start.length)}`, before, after, share, noise, most, unit, ok };
      }),
  );
}
