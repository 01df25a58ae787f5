// The goals, of what was measured: each has what must be (`must`) and where it should be (`aim`), a bound from below or above.
import { judged, spread } from './summary.mjs';
import { memoryPeers, peers, titleOf } from './systems/index.mjs';

/** What the goals look at: one scenario at one number in flight, in one process. */
function viewOf({ cells, rows }, scenario, inFlight) {
  const here = (one) => one.scenario === scenario && one.inFlight === inFlight && one.processes === 1;
  const [cellsHere, rowsHere] = [cells.filter(here), rows.filter(here)];
  const row = (system) => rowsHere.find((one) => one.system === system);
  const rounds = [...new Set(cellsHere.map(({ round }) => round))];
  return {
    row,
    /** The one of these systems that is best by a figure. */
    best(systems, figure, bound) {
      const there = systems.filter((system) => row(system) !== undefined);
      return there.sort((a, b) => (row(b)[figure].median - row(a)[figure].median) * (bound === 'at least' ? 1 : -1))[0];
    },
    /** One system's figure over another's: the ratio of the medians, and the spread of the ratios within each round. */
    ratio(figure, system, over) {
      const inRound = (name, round) => cellsHere.find((cell) => cell.system === name && cell.round === round)[figure];
      const { min, max } = spread(rounds.map((round) => inRound(system, round) / inRound(over, round)));
      return { value: row(system)[figure].median / row(over)[figure].median, min, max, over: titleOf(over) };
    },
  };
}

/** Goals that compare two systems in one place. `over`: one, or several of which the best by that figure counts. */
const ratios = [
  {
    text: 'checks/s, 256 in flight',
    at: ['many', 256],
    figure: 'checksPerSecond',
    of: 'headgate',
    over: peers,
    bound: 'at least',
    must: 2,
    aim: 3,
  },
  {
    text: 'client CPU per check, 256 in flight',
    at: ['many', 256],
    figure: 'clientCpuUs',
    of: 'headgate',
    over: peers,
    bound: 'at most',
    must: 1 / 3,
    aim: 1 / 4,
  },
  {
    text: 'Redis CPU per check, 256 in flight',
    at: ['many', 256],
    figure: 'redisCpuUs',
    of: 'headgate',
    over: ['bare'],
    bound: 'at most',
    must: 2,
    aim: 1.5,
  },
  { text: 'p50, 1 in flight', at: ['many', 1], figure: 'p50Ms', of: 'headgate', over: ['raw'], bound: 'at most', must: 1.15, aim: 1.05 },
  {
    text: 'time of three rules, 256 in flight',
    at: ['three', 256],
    figure: 'secondsPerCheck',
    of: 'headgate',
    over: ['headgate-one'],
    bound: 'at most',
    must: 2.5,
    aim: 2,
  },
  {
    text: 'time of three rules, 1 in flight',
    at: ['three', 1],
    figure: 'p50Ms',
    of: 'headgate',
    over: ['headgate-one'],
    bound: 'at most',
    must: 1.4,
    aim: 1.2,
  },
  {
    text: 'memory store, checks/s',
    at: ['memory', 256],
    figure: 'checksPerSecond',
    of: 'headgate-memory',
    over: memoryPeers,
    bound: 'at least',
    must: 1,
  },
];

/** Goals that are a number of checks/s. `half`: the aim is half of what this one does. */
const speeds = [
  { text: 'leased hot key, checks/s', at: ['hot', 256], of: 'headgate-lease', must: 1e6, aim: 2e6 },
  { text: 'noted refusal of one key, checks/s', at: ['refused-one', 256], of: 'headgate-noted', must: 1.5e6, half: 'map' },
  { text: 'noted refusal of many keys, checks/s', at: ['refused', 256], of: 'headgate-noted', must: 4e5, half: 'map' },
];

/** The goals that what was measured can answer: those of the bench, or others that are ratios too. */
export function goalsOf({ cells, rows, degraded, wrong }, wanted = { ratios, speeds }) {
  const measured = { cells: cells.map((cell) => ({ ...cell, secondsPerCheck: 1 / cell.checksPerSecond })), rows: rows.map(withSeconds) };
  const goals = [];
  for (const { at, figure, of, over, ...goal } of wanted.ratios) {
    const view = viewOf(measured, ...at);
    const best = view.best(over, figure, goal.bound);
    if (view.row(of) !== undefined && best !== undefined) goals.push({ ...goal, ...view.ratio(figure, of, best) });
  }
  for (const { at, of, half, ...goal } of wanted.speeds) {
    const view = viewOf(measured, ...at);
    if (view.row(of) === undefined) continue;
    const { median: value, min, max } = view.row(of).checksPerSecond;
    const halfOf = view.row(half)?.checksPerSecond.median;
    const aim = halfOf === undefined ? {} : { aim: halfOf / 2, aimIs: `half of ${titleOf(half)}` };
    goals.push({ ...goal, ...aim, value, min, max, bound: 'at least' });
  }
  const none = { value: 0, min: 0, max: 0, bound: 'at most', must: 0 };
  goals.push({ ...none, text: 'degraded decisions', value: degraded }, { ...none, text: 'wrong answers', value: wrong });
  return goals.map(judged);
}

/** A row's time per check, which is what is left of a second. */
const withSeconds = (row) => ({ ...row, secondsPerCheck: { median: 1 / row.checksPerSecond.median } });
