// The results as people read them.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const columns = [
  { figure: 'checksPerSecond', title: 'checks/s', show: (n) => whole.format(n) },
  { figure: 'p50Ms', title: 'p50 ms', show: (n) => n.toFixed(3) },
  { figure: 'p99Ms', title: 'p99 ms', show: (n) => n.toFixed(3) },
  { figure: 'clientCpuUs', title: 'client CPU us', show: (n) => n.toFixed(1) },
  { figure: 'redisCpuUs', title: 'Redis CPU us', show: (n) => n.toFixed(1) },
];

const cell = ({ median, min, max }, show) => `${show(median)} (${show(min)}..${show(max)})`;

/** One block per number in flight, one line per system: median (min..max). */
export function table(rows, titles) {
  const lines = [];
  for (const inFlight of new Set(rows.map((row) => row.inFlight))) {
    const head = [`${inFlight} in flight`, ...columns.map(({ title }) => title)];
    const body = rows
      .filter((row) => row.inFlight === inFlight)
      .map((row) => [titles[row.system], ...columns.map(({ figure, show }) => cell(row[figure], show))]);
    const widths = [22, 26, 22, 23, 20, 20];
    for (const line of [head, ...body])
      lines.push(line.map((text, i) => (i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i]))).join(' '));
    lines.push('');
  }
  return lines.join('\n');
}

export function goalLine({ text, value, min, max, over, bound, goal, met }, titles) {
  if (over === undefined) return `${met ? 'met    ' : 'NOT MET'} ${text}: ${value} (goal: ${goal})`;
  const figure = `${value.toFixed(2)} x ${titles[over]} (${min.toFixed(2)}..${max.toFixed(2)})`;
  return `${met ? 'met    ' : 'NOT MET'} ${text}: ${figure}; goal: ${bound} ${goal}`;
}
