import { aligned } from '../../bench/table.mjs';
import { gaugesOf } from './gauges.mjs';

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const percent = (part) => `${(part * 100).toFixed(0)} %`;
const percents = (part) => `${part > 0 ? '+' : ''}${(part * 100).toFixed(1)} %`;
const listed = (counts) =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${whole.format(count)}`)
    .join(', ');

const show = (value, unit) => (unit === 1 ? whole.format(value) : `${(value / unit).toFixed(2)} MB`);
const sumOf = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);

/** One sample as a line. */
export function sampleLine(sample) {
  const gauges = gaugesOf(sample);
  const MB = 2 ** 20;
  const mb = (name) => `${(gauges.get(name) / MB).toFixed(1)} MB`;
  const count = (name) => whole.format(gauges.get(name));
  const handles = [...gauges].filter(([name]) => name.startsWith('handles ')).reduce((sum, [, value]) => sum + value, 0);
  const counts = sample.processes.map((each) => each.counts);
  const decisions = counts.reduce((sum, { sources }) => sum + sumOf(sources), 0);
  const without = counts.reduce((sum, { sources }) => sum + sources.fallback, 0);
  const errors = counts.reduce((sum, each) => sum + each.errors.count, 0);
  return [
    `${(sample.atMs / 60_000).toFixed(1).padStart(5)} min`,
    `heap ${mb('heap')}`,
    `RSS ${mb('rss')}`,
    `${handles} handles`,
    `${count('clientListeners')} listeners`,
    `CPU ${percent(gauges.get('cpu'))}`,
    `Redis ${mb('redis memory')}, ${count('redis keys')} keys, ${count('redis connections')} connections`,
    `${whole.format(decisions)} decisions, ${whole.format(without)} without the store, ${errors} errors`,
  ].join('  ');
}

function boundText({ share, noise, most, unit }) {
  const more = [...(share > 0 ? [percents(share)] : []), ...(noise > 0 ? [`+${show(noise, unit)}`] : [])].join(' or ');
  return more === '' ? 'no more' : `at most ${more}${Number.isFinite(most) ? `, and +${show(most, unit)}` : ''}`;
}

function flatLine(row) {
  const { what, before, after, unit, ok } = row;
  const grown = before === 0 ? '' : percents((after - before) / before);
  return [`${ok ? 'ok   ' : 'GROWS'} ${what}`, show(before, unit), show(after, unit), grown, boundText(row)];
}

/** How a run went, as people read it. */
export function report({ rows, causes, totals, faults }, { left }) {
  const flat = aligned([['', '2nd fifth', 'last fifth', 'growth', 'bound'], ...rows.map(flatLine)]);
  const without = aligned([
    ['decided without the store', 'times', 'decisions', 'verbs refused'],
    ...causes.map(({ name, times, degraded, away }) => [
      `${name === 'unexplained' && degraded + away > 0 ? 'FAILS' : 'ok   '} ${name}`,
      name === 'unexplained' ? '' : whole.format(times),
      whole.format(degraded),
      whole.format(away),
    ]),
  ]);
  const keys = left.found.map(({ rule, count, longestMs }) => `${count} of ${rule} for up to ${whole.format(longestMs / 1000)} s`);
  return [
    ...flat,
    '',
    ...without,
    '',
    `decisions by source: ${listed(totals.sources)}`,
    `verbs: ${listed(totals.verbs)}`,
    `events: ${listed(totals.events) || 'none'}`,
    `give-backs that were not carried out, as the store was away: ${whole.format(totals.unreturned)}`,
    `keys in Redis ${(left.afterMs / 1000).toFixed(1)} s after the end: ${keys.join(', ') || 'none'}`,
    `errors: ${totals.errors}`,
    ...faults.map((fault) => `FAILS ${fault}`),
  ]
    .map((line) => line.trimEnd())
    .join('\n');
}
