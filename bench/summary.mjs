// From cells to medians with their spread, and what is judged by them.

export const figures = ['checksPerSecond', 'p50Ms', 'p99Ms', 'p999Ms', 'clientCpuUs', 'redisCpuUs', 'callsPerCheck'];

export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  return { median, min: sorted[0], max: sorted.at(-1) };
}

/** A row per scenario, processes, number in flight and system: each figure's median and spread over the rounds. */
export function summarize(cells) {
  const groups = new Map();
  for (const cell of cells) {
    const name = `${cell.scenario} ${cell.processes} ${cell.inFlight} ${cell.system}`;
    groups.set(name, [...(groups.get(name) ?? []), cell]);
  }
  return [...groups.values()].map((group) => {
    const { scenario, processes, inFlight, system } = group[0];
    return {
      scenario,
      processes,
      inFlight,
      system,
      ...Object.fromEntries(figures.map((name) => [name, spread(group.map((cell) => cell[name]))])),
    };
  });
}

const better = { 'at least': (value, bound) => value >= bound, 'at most': (value, bound) => value <= bound };

/** Whether a goal is met, and whether its aim is too. */
export function judged(goal) {
  const holds = better[goal.bound];
  return { ...goal, met: holds(goal.value, goal.must), aimMet: goal.aim !== undefined && holds(goal.value, goal.aim) };
}
