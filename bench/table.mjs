// The results as people read them.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const milliseconds = (n) => n.toFixed(n < 0.1 ? 4 : 3);
const microseconds = (n) => n.toFixed(n < 1 ? 2 : 1);
const columns = [
  { figure: 'checksPerSecond', title: 'checks/s', show: (n) => whole.format(n) },
  { figure: 'p50Ms', title: 'p50 ms', show: milliseconds },
  { figure: 'p99Ms', title: 'p99 ms', show: milliseconds },
  { figure: 'p999Ms', title: 'p99.9 ms', show: milliseconds },
  { figure: 'clientCpuUs', title: 'client CPU us', show: microseconds },
  { figure: 'redisCpuUs', title: 'Redis CPU us', show: microseconds },
  { figure: 'callsPerCheck', title: 'calls/check', show: (n) => (n === 0 ? '0' : n.toFixed(n < 0.01 ? 5 : 2)), alone: true },
];

const cell = ({ median, min, max }, { show, alone }) => (alone ? show(median) : `${show(median)} (${show(min)}..${show(max)})`);

/** Lines of columns as wide as they must be; the first is text, the others are figures. */
export function aligned(lines) {
  const widths = lines[0].map((_, i) => Math.max(...lines.map((line) => line[i].length)));
  return lines.map((line) => line.map((text, i) => (i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i]))).join('  '));
}

/** One scenario: a block for each number of processes and in flight, one line per system: median (min..max). */
export function table(rows, titleOf) {
  const lines = [...new Set(rows.map(blockOf))].flatMap((name) => [
    [name, ...columns.map(({ title }) => title)],
    ...rows
      .filter((row) => blockOf(row) === name)
      .map((row) => [titleOf(row.system), ...columns.map((column) => cell(row[column.figure], column))]),
    Array.from({ length: columns.length + 1 }, () => ''),
  ]);
  return aligned(lines)
    .map((line) => line.trimEnd())
    .join('\n');
}

const blockOf = ({ processes, inFlight }) => `${inFlight} in flight${processes > 1 ? `, ${processes} processes` : ''}`;

/** A goal with one bound; `value` is shown as it is. */
export function goalLine({ text, value, goal, met }) {
  return `${met ? 'met    ' : 'NOT MET'} ${text}: ${value} (goal: ${goal})`;
}

const figure = (n) => (Math.abs(n) >= 100 || Number.isInteger(n) ? whole.format(n) : n.toFixed(2));

/** A goal that must be met and has an aim beyond, as goals.mjs judges it. */
export function verdictLine({ text, value, min, max, over, unit = '', bound, must, aim, aimIs, met, aimMet }) {
  const verdict = met ? (aimMet ? 'met (aim met)' : 'met') : 'NOT MET';
  const found = over === undefined ? `${figure(value)}${unit}` : `${figure(value)} x ${over}`;
  const between = min === max ? '' : ` (${figure(min)}..${figure(max)})`;
  const toAim = aim === undefined ? '' : `, aim ${figure(aim)}${aimIs === undefined ? '' : `, ${aimIs}`}`;
  return `${verdict.padEnd(13)} ${text}: ${found}${between}; ${bound} ${figure(must)}${toAim}`;
}
