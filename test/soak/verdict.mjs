import { causesOf } from './absences.mjs';
import { flatness } from './flatness.mjs';
import { summed } from './gauges.mjs';
import { isLong } from './rules.mjs';

/** Each must have happened. */
const verbs = 'check refused group hold reserve refund receipt acquire abort aborted peek ban reload visit'.split(' ');
const sources = ['store', 'lease', 'sync', 'note', 'fallback'];

/** What was asked and answered, by all processes. */
export function totalsOf({ counts }) {
  const sums = summed(counts.map(({ sources, verbs, events, errors }) => ({ sources, verbs, events, errors: errors.count })));
  const under = (kind) =>
    Object.fromEntries(
      [...sums].filter(([name]) => name.startsWith(`${kind} `)).map(([name, count]) => [name.slice(kind.length + 1), count]),
    );
  return {
    sources: under('sources'),
    verbs: under('verbs'),
    events: under('events'),
    errors: sums.get('errors') ?? 0,
    texts: counts.flatMap(({ errors }) => errors.texts),
  };
}

/** Judges a run: `rows` of what must stay flat, and `faults`, one line each. */
export function judge(run) {
  const { samples, ended, left } = run;
  const rows = flatness(run);
  const causes = causesOf(run);
  const totals = totalsOf(ended);
  const faults = [];

  const unexplained = causes.at(-1);
  const when = unexplained.at.map((at) => new Date(at).toISOString().slice(11, 23)).join(', ');
  if (unexplained.degraded > 0) faults.push(`${unexplained.degraded} decisions were made without the store while it was there, at ${when}`);
  if (unexplained.away > 0) faults.push(`${unexplained.away} verbs said that the store is away while it was there, at ${when}`);
  if (totals.errors > 0) faults.push(`${totals.errors} errors, the first of them:`, ...totals.texts);

  const figures = samples.flatMap(({ processes }) => processes.map((each) => each.figures));
  const stillAway = figures.filter(({ unavailable }) => unavailable > 0).length;
  if (stillAway > 0) faults.push(`in ${stillAway} samples the store was not in use again`);
  const lost = Math.max(...figures.map((each) => each.lost));
  if (lost > 0) faults.push(`${lost} units, notes or leases were dropped, as there were too many`);

  // What was never done was not shown to leave nothing behind.
  const undone = [
    ...verbs.filter((name) => !totals.verbs[name]),
    ...sources.filter((name) => !totals.sources[name]).map((name) => `source ${name}`),
  ];
  if (undone.length > 0) faults.push(`never happened: ${undone.join(', ')}`);
  if (!ended.byThemselves) faults.push('something kept a process alive after everything was closed');

  const forEver = left.found.filter((each) => each.forEver > 0);
  const late = left.found.filter((each) => each.forEver === 0 && !isLong(each.rule));
  for (const { rule, forEver: count } of forEver) faults.push(`${count} keys of ${rule} have no TTL`);
  for (const { rule, count, longestMs } of late) faults.push(`${count} keys of ${rule} are still there, for up to ${longestMs} ms`);

  const unreturned = samples.at(-1)?.processes.reduce((sum, each) => sum + each.figures.unreturned, 0);
  return { rows, causes, totals: { ...totals, unreturned }, faults, ok: faults.length === 0 && rows.every(({ ok }) => ok) };
}
