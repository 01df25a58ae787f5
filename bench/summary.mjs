// From cells to medians, tables and the goals' ratios.

export const figures = ['checksPerSecond', 'p50Ms', 'p99Ms', 'clientCpuUs', 'redisCpuUs'];

export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  return { median, min: sorted[0], max: sorted.at(-1) };
}

/** A row per system and number in flight: each figure's median and spread over the rounds. */
export function summarize(cells) {
  const groups = new Map();
  for (const cell of cells) {
    const name = `${cell.inFlight} ${cell.system}`;
    groups.set(name, [...(groups.get(name) ?? []), cell]);
  }
  return [...groups.values()].map((group) => {
    const { system, inFlight } = group[0];
    return { system, inFlight, ...Object.fromEntries(figures.map((name) => [name, spread(group.map((cell) => cell[name]))])) };
  });
}

/** One figure of Headgate over another system's: the ratio of the medians, and the spread of the ratios within each round. */
function ratio({ cells, rows, figure, inFlight, over }) {
  const of = (system) => rows.find((row) => row.system === system && row.inFlight === inFlight)?.[figure].median;
  const inRound = (system, round) =>
    cells.find((cell) => cell.system === system && cell.inFlight === inFlight && cell.round === round)?.[figure];
  const rounds = [...new Set(cells.map(({ round }) => round))];
  const { min, max } = spread(rounds.map((round) => inRound('headgate', round) / inRound(over, round)));
  return { over, value: of('headgate') / of(over), min, max };
}

/** The goals that what was measured can answer. */
export function goalsOf({ cells, rows, degraded }) {
  const at = (inFlight) => rows.filter((row) => row.inFlight === inFlight);
  const has = (inFlight, system) => at(inFlight).some((row) => row.system === system);
  const goals = [];
  const rivals = at(256).filter(({ system }) => system === 'flexible' || system === 'rlr');
  if (has(256, 'headgate') && rivals.length > 0) {
    const over = rivals.reduce((a, b) => (b.checksPerSecond.median > a.checksPerSecond.median ? b : a)).system;
    const speed = ratio({ cells, rows, figure: 'checksPerSecond', inFlight: 256, over });
    const cpu = ratio({ cells, rows, figure: 'clientCpuUs', inFlight: 256, over });
    goals.push({ text: 'checks/s at 256 in flight', ...speed, goal: 2, met: speed.value >= 2, bound: 'at least' });
    goals.push({ text: 'client CPU per check at 256 in flight', ...cpu, goal: 0.4, met: cpu.value <= 0.4, bound: 'at most' });
  }
  if (has(1, 'headgate') && has(1, 'raw')) {
    const p50 = ratio({ cells, rows, figure: 'p50Ms', inFlight: 1, over: 'raw' });
    goals.push({ text: 'p50 at 1 in flight', ...p50, goal: 1.15, met: p50.value <= 1.15, bound: 'at most' });
  }
  if (degraded !== undefined) goals.push({ text: 'degraded decisions', value: degraded, goal: 0, met: degraded === 0, bound: 'at most' });
  return goals;
}
