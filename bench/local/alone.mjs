// One process, one leased key that is never empty: what a check costs, and what it waits.
import { createLimiter, tokenBucket } from 'headgate';
import { redisStore } from 'headgate/redis';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { spread } from '../summary.mjs';
import { countingClient } from './counting.mjs';

const inBurst = 200;

async function openLimiter(server) {
  const { client, calls } = countingClient(server);
  const limit = tokenBucket({ capacity: 1e9, refill: '1000000000/s' });
  const limiter = createLimiter({
    store: redisStore({ client }),
    deadline: '2s',
    fleetSize: 1,
    rules: { api: { limit, mode: 'lease' } },
  });
  await limiter.ready();
  return { limiter, calls };
}

const cpuUs = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/** In bursts, as a busy server asks, with a look at the sockets after each; how many were not passed by a lease. */
async function drive(limiter, count) {
  let others = 0;
  for (let i = 0; i < count; i += inBurst) {
    const burst = [];
    for (let j = 0; j < inBurst; j += 1) burst.push(limiter.check('api', 'hot'));
    for (const { allowed, source } of await Promise.all(burst)) if (!allowed || source !== 'lease') others += 1;
    await nextTurn();
  }
  return others;
}

/** How many checks a second, what they cost, and how many calls they made. */
export async function speed({ server, rounds, seconds }) {
  const { limiter, calls } = await openLimiter(server);
  const checks = Math.ceil(seconds * 1000) * 1000;
  await drive(limiter, checks);
  const measured = [];
  for (let round = 0; round < rounds; round += 1) {
    const [callsBefore, cpuBefore, from] = [calls(), cpuUs(), performance.now()];
    const others = await drive(limiter, checks);
    const ms = performance.now() - from;
    measured.push({
      perSecond: (checks * 1000) / ms,
      cpu: (cpuUs() - cpuBefore) / checks,
      calls: (calls() - callsBefore) / checks,
      others,
    });
  }
  const { degraded } = limiter.stats();
  await limiter.close();
  const of = (figure) => spread(measured.map((one) => one[figure]));
  return { perSecond: of('perSecond'), cpu: of('cpu'), calls: of('calls'), others: of('others'), degraded };
}

/** What each check of a steady load waits, one after the other in small batches, while leases are renewed all the time. */
export async function waits({ server, seconds, perSecond }) {
  const { limiter, calls } = await openLimiter(server);
  const us = new Float64Array(Math.ceil((seconds + 1) * perSecond));
  const bySource = {};
  let asked = 0;
  const began = performance.now();
  const warmMs = 1000;
  let measuredFrom;
  let callsBefore = 0;
  for (let ms = 0; ms < warmMs + seconds * 1000; ms = performance.now() - began) {
    if (measuredFrom === undefined && ms >= warmMs) {
      measuredFrom = asked;
      callsBefore = calls();
    }
    for (const due = Math.min(us.length, Math.floor((ms * perSecond) / 1000)); asked < due; asked += 1) {
      const from = performance.now();
      const { source } = await limiter.check('api', 'hot');
      us[asked] = (performance.now() - from) * 1000;
      if (measuredFrom !== undefined) bySource[source] = (bySource[source] ?? 0) + 1;
    }
    await sleep(1);
  }
  const renewals = calls() - callsBefore;
  const { degraded } = limiter.stats();
  await limiter.close();
  const sorted = us.subarray(measuredFrom, asked).sort();
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  return { checks: sorted.length, p50: at(0.5), p99: at(0.99), p999: at(0.999), most: at(1), renewals, bySource, degraded };
}

const whole = (value) => Math.round(value).toLocaleString('en');
const between = ({ median, min, max }, show) => `${show(median)} (${show(min)} to ${show(max)})`;

export const speedLines = ({ perSecond, cpu, calls, others }) => [
  `one leased key, one process: ${between(perSecond, whole)} checks/s; ` +
    `CPU ${between(cpu, (us) => us.toFixed(2))} us a check; ${between(calls, (part) => (part * 100).toFixed(4))} % calls per check; ` +
    `at most ${others.max} of a round not passed by a lease`,
];

export const waitsLines = ({ checks, p50, p99, p999, most, renewals, bySource }) => [
  `${whole(checks)} checks at a steady pace, ${renewals} calls meanwhile: p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, ` +
    `p99.9 ${p999.toFixed(1)}, most ${whole(most)} us; decided by ${Object.entries(bySource)
      .map(([source, count]) => `${source} ${whole(count)}`)
      .join(', ')}`,
];

export const speedGoals = ({ perSecond, cpu, degraded }) => [
  { text: 'speed: checks/s of one leased key', value: whole(perSecond.median), goal: '1,000,000', met: perSecond.median >= 1e6 },
  { text: 'speed: CPU per check', value: `${cpu.median.toFixed(2)} us`, goal: 'under 2 us', met: cpu.median < 2 },
  { text: 'speed: degraded decisions', value: degraded, goal: 0, met: degraded === 0, hard: true },
];

export const waitsGoals = ({ p99, degraded }) => [
  { text: 'waits: p99 of a leased check', value: `${p99.toFixed(1)} us`, goal: 'under 50 us', met: p99 < 50 },
  { text: 'waits: degraded decisions', value: degraded, goal: 0, met: degraded === 0, hard: true },
];
