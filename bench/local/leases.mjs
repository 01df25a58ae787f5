// Eight processes that spend one leased key: is all of it spent, nothing beyond it, and how often is the store asked?
import { partOf, sharedNow, startFleet } from './fleet.mjs';

const processes = 8;
const [capacity, perSecond] = [1000, 1000];
/** A process that asks so often a second is held to the goal for calls per check. */
const busyFrom = 2000;

/** The last is for the goal at 2,000 checks a second in each process. */
const cells = [
  ...[1.1, 2, 8].flatMap((offered) => ['even', '90/10'].map((traffic) => ({ offered, traffic }))),
  { offered: 16, traffic: 'even' },
];

const sum = (values) => values.reduce((a, b) => a + b, 0);

/** One cell of the table, out of what each process was answered. */
function judge(answers, { offered, traffic }) {
  const firstAsked = Math.min(...answers.map(({ firstAskedAt }) => firstAskedAt));
  const lastAnswered = Math.max(...answers.map(({ lastAnsweredAt }) => lastAnsweredAt));
  // Every unit was taken from a full bucket after the first question and before the last answer, by a clock as fast as this one.
  const seconds = (lastAnswered - firstAsked) / 1000;
  const most = capacity + perSecond * seconds;
  const admitted = sum(answers.map((one) => one.admitted));
  const asked = sum(answers.map((one) => one.asked));
  const perCheck = answers.filter((one) => one.asked >= busyFrom * 0.99 * seconds).map(({ calls, asked }) => calls / asked);
  return {
    offered,
    traffic,
    seconds,
    asked,
    admitted,
    most,
    // What was not asked for cannot pass.
    part: admitted / Math.min(most, asked),
    callsPerSecond: sum(answers.map(({ calls }) => calls)) / seconds / processes,
    mostCallsPerSecond: Math.max(...answers.map(({ calls }) => calls)) / seconds,
    callsPerCheck: sum(answers.map(({ calls }) => calls)) / asked,
    busyCallsPerCheck: perCheck.length === 0 ? undefined : Math.max(...perCheck),
    degraded: sum(answers.map((one) => one.degraded)),
    over: admitted - most,
    errors: answers.flatMap(({ errors }) => errors),
  };
}

export async function leases({ server, seconds }) {
  const limit = ['tokenBucket', { capacity, refill: `${perSecond}/s` }];
  const fleet = await startFleet({ processes, ...server, systems: { lease: { store: 'redis', limit, mode: 'lease' } } });
  const rows = [];
  for (const { offered, traffic } of cells) {
    const startAt = sharedNow() + 200;
    const seriesOf = (number) => {
      const part = partOf({ perSecond: offered * perSecond, traffic, processes, number });
      return [{ system: 'lease', key: `${offered} ${traffic}`, perSecond: part, phase: number / processes }];
    };
    const answers = await fleet.run({ startAt, endAt: startAt + seconds * 1000, seriesOf });
    rows.push(
      judge(
        answers.map(([one]) => one),
        { offered, traffic },
      ),
    );
    console.error(`leases: ${offered} times, ${traffic}`);
  }
  await fleet.end();
  return rows;
}

const percent = (part) => `${(part * 100).toFixed(1)} %`;

export function leasesTable(rows) {
  return {
    title: `One leased key, ${capacity} + ${perSecond}/s, ${processes} processes`,
    head: [
      'offered',
      'traffic',
      'admitted',
      'of the limit',
      'beyond it',
      'of what could pass',
      'calls/s, process',
      'worst',
      'calls/check',
      'busy',
    ],
    body: rows.map((row) => [
      `${row.offered} x`,
      row.traffic,
      String(row.admitted),
      percent(row.admitted / row.most),
      Math.max(0, row.over).toFixed(1),
      percent(row.part),
      row.callsPerSecond.toFixed(1),
      row.mostCallsPerSecond.toFixed(1),
      percent(row.callsPerCheck),
      row.busyCallsPerCheck === undefined ? '-' : percent(row.busyCallsPerCheck),
    ]),
  };
}

export function leasesGoals(rows) {
  const over = Math.max(0, ...rows.map((row) => row.over));
  const part = Math.min(...rows.map((row) => row.part));
  const calls = Math.max(...rows.map((row) => row.mostCallsPerSecond));
  const busy = Math.max(...rows.flatMap(({ busyCallsPerCheck }) => busyCallsPerCheck ?? []));
  return [
    { text: 'leases: units admitted beyond the limit', value: over.toFixed(1), goal: 0, met: over === 0, hard: true },
    { text: 'leases: admitted of what could pass, at least', value: percent(part), goal: 'at least 97 %', met: part >= 0.97 },
    { text: 'leases: calls/s of one process, at most', value: calls.toFixed(1), goal: 'at most 20', met: calls <= 20 },
    { text: `leases: calls per check from ${busyFrom} checks/s on`, value: percent(busy), goal: 'under 1 %', met: busy < 0.01 },
  ];
}
