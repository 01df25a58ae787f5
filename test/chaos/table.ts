import { showPeak, type Row } from './verdict.js';

const ms = (value: number): string => value.toFixed(1);
const sourcesOf = ({ sources }: Row): string =>
  Object.entries(sources)
    .sort(([, a], [, b]) => b - a)
    .map(([source, count]) => `${source} ${count}`)
    .join(', ');

const columns: readonly { readonly title: string; readonly show: (row: Row) => string }[] = [
  { title: 'fault', show: ({ title }) => title },
  { title: 'slowest ms', show: ({ slowestMs }) => ms(slowestMs) },
  { title: 'p99.9 ms', show: ({ p999Ms }) => ms(p999Ms) },
  { title: 'late', show: ({ late }) => `${late}` },
  { title: 'decided by', show: sourcesOf },
  { title: 'errors', show: ({ errors }) => `${errors}` },
  { title: 'store, at most', show: ({ store }) => (store ? showPeak(store) : '-') },
  { title: 'alone, at most', show: ({ local }) => (local ? showPeak(local) : '-') },
  { title: 'together', show: ({ together }) => (together ? showPeak(together) : '-') },
  { title: 'back after ms', show: ({ backMs }) => (backMs === undefined ? '-' : `${Math.round(backMs)}`) },
  { title: 'busy', show: ({ busy }) => `${Math.round(busy * 100)} %` },
  { title: '', show: ({ reasons }) => (reasons.length === 0 ? 'ok' : 'FAILS') },
];

/** The rows as people read them, in Markdown; below it, breaches, and why rows fail. */
export function table(rows: readonly Row[]): string {
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ show }) => show(row)))];
  const widths = columns.map((_, column) => Math.max(3, ...cells.map((line) => line[column]?.length ?? 0)));
  const lines = cells.map((line) => `| ${line.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`);
  lines.splice(1, 0, `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`);
  const failing = rows.flatMap(({ fault, reasons, setAside, breaches }) => [
    ...(breaches === '' || reasons.includes(breaches) ? [] : [`${fault}, within one in a thousand: ${breaches}`]),
    ...setAside.map((reason) => `${fault}, set aside, as the machine was busy, and run again: ${reason}`),
    ...reasons.map((reason) => `${fault}: ${reason}`),
  ]);
  return [...lines, ...(failing.length === 0 ? [] : ['', ...failing])].join('\n');
}
