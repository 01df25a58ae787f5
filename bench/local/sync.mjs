// Eight processes and one limit per window: what each way of sharing it lets through, refuses too soon, and asks the store.
import { partOf, sharedNow, startFleet } from './fleet.mjs';
import { judgeWindows } from './windows.mjs';

const processes = 8;
/** Checks asked, of the limit; and those of one burst, by all processes in the same moment. */
const [offered, burstPart] = [2, 1 / 4];
const traffics = ['even', '90/10', 'bursts'];

const sizes = {
  short: { limit: 3000, windowMs: 10_000, intervals: ['100ms', '500ms'] },
  full: { limit: 6000, windowMs: 60_000, intervals: ['100ms', '1s'] },
};

/** By its name in the table: how the limit is shared, and how much of it may pass in a window. */
function systemsOf({ limit, windowMs, intervals }) {
  const window = (part) => ['fixedWindow', { limit: Math.floor(limit * part), window: windowMs }];
  const shared = (mode) => ({ store: 'redis', limit: window(1), mode });
  const syncBound = 1 + (processes - 1) / (2 * processes);
  return {
    ...Object.fromEntries(intervals.map((sync) => [`sync ${sync}`, { ...shared({ sync }), bound: syncBound }])),
    lease: { ...shared('lease'), bound: 1 },
    exact: { ...shared('exact'), bound: 1 },
    'split limit': { store: 'memory', limit: window(1 / processes), bound: 1 },
    'not shared': { store: 'memory', limit: window(1) },
  };
}

/** The same in every run: moments in milliseconds, in order. */
function moments(count, lastMs, seed) {
  let state = seed;
  const random = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
  return Array.from({ length: count }, () => random() * lastMs).sort((a, b) => a - b);
}

/** What one process asks of each system. */
function seriesFor({ names, traffic, limit, windowMs, ms }) {
  const perSecond = (offered * limit * 1000) / windowMs;
  const size = Math.round((limit * burstPart) / processes);
  const bursts = names.map((_, index) => moments(Math.round((perSecond * ms) / 1000 / size / processes), ms, index + 1));
  return (number) =>
    names.map((system, index) => {
      // They share one Redis.
      const key = `${system} ${traffic}`;
      if (traffic === 'bursts') return { system, key, bursts: bursts[index], size };
      const part = partOf({ perSecond, traffic, processes, number });
      return { system, key, perSecond: part, phase: (number + index / names.length) / processes };
    });
}

/** From a moment before an edge, so that nobody is new to the key when it comes, over whole windows. */
async function runTraffic({ fleet, names, traffic, windows, limit, windowMs }) {
  const warmMs = windowMs / 4;
  const edge = Math.ceil((Date.now() + 500 + warmMs) / windowMs) * windowMs;
  const startAt = sharedNow() + edge - warmMs - Date.now();
  const ms = warmMs + windows * windowMs;
  const seriesOf = seriesFor({ names, traffic, limit, windowMs, ms });
  const answers = await fleet.run({ startAt, endAt: startAt + ms, seriesOf, record: true });
  return names.map((system, index) => {
    const all = answers.map((one) => one[index]);
    const decided = all.flatMap((one) => [...one.decided]);
    return {
      system,
      traffic,
      ...judgeWindows(decided, { limit, windowUs: windowMs * 1000, firstEnd: (edge + windowMs) * 1000, windows }),
      callsPerSecond: (Math.max(...all.map(({ calls }) => calls)) * 1000) / ms,
      degraded: all.reduce((sum, one) => sum + one.degraded, 0),
      errors: all.flatMap(({ errors }) => errors),
    };
  });
}

export async function sync({ server, windows, full }) {
  const { limit, windowMs, intervals } = full ? sizes.full : sizes.short;
  const systems = systemsOf({ limit, windowMs, intervals });
  const names = Object.keys(systems);
  const fleet = await startFleet({ processes, ...server, systems });
  const rows = [];
  for (const traffic of traffics) {
    for (const row of await runTraffic({ fleet, names, traffic, windows, limit, windowMs })) {
      rows.push({ ...row, bound: systems[row.system].bound });
    }
    console.error(`sync: ${traffic}`);
  }
  await fleet.end();
  return { rows, limit, windowMs, windows };
}

const percent = (part) => `${(part * 100).toFixed(1)} %`;

export function syncTable({ rows, limit, windowMs, windows }) {
  return {
    title:
      `${limit} per ${windowMs / 1000} s, ${processes} processes, asked for ${offered} times the limit; ${windows} whole windows, ` +
      'the systems at the same time',
    head: ['traffic', 'system', 'least admitted', 'most admitted', 'bound', 'refused too soon', 'calls/s, process'],
    body: rows.map((row) => [
      row.traffic,
      row.system,
      percent(row.least),
      percent(row.most),
      row.bound === undefined ? 'none' : percent(row.bound),
      percent(row.wrong),
      row.callsPerSecond.toFixed(1),
    ]),
  };
}

export function syncGoals({ rows }) {
  return ['sync', 'lease', 'exact', 'split limit'].map((name) => {
    const chosen = rows.filter(({ system }) => system.startsWith(name));
    const most = Math.max(...chosen.map(({ mostAnywhere }) => mostAnywhere));
    const [{ bound }] = chosen;
    return {
      text: `${name}: admitted in a window`,
      value: percent(most),
      goal: `at most ${percent(bound)}`,
      met: most <= bound,
      hard: true,
    };
  });
}
