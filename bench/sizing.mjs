// npm run bench:sizing: what a request costs one Redis by how it travels, and so how many Redis servers a load needs. See README.md.
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startRedis } from '../tools/redis.mjs';
import { aboutLine, describe } from './about.mjs';
import { addSlice, figuresOf, openCell } from './cell.mjs';
import { startProcesses } from './processes.mjs';
import { cases } from './sizing/cases.mjs';
import { readOptions } from './sizing/options.mjs';
import { report, summarize } from './sizing/report.mjs';

/**
 * Each process has several apps, and each of those a limiter and a connection: to Redis a fleet of 64. With more processes than cores the
 * clients would mostly wait for each other, and Redis for them.
 */
const [processes, perProcess] = [2, 32];
const apps = processes * perProcess;
const keys = 100_000;
/** The pace is found in so many steps of so many milliseconds: what a request costs depends on the pace. */
const [steps, stepMs] = [3, 400];

/** What every process is told, for so many requests a second of all. */
function orderOf(name, perSecond) {
  const { burst, keysAt, keys: ofCase = keys } = cases[name];
  return { name, perSecond: perSecond / burst / processes, keys: keysAt?.(perSecond) ?? ofCase };
}

/** One case in one round. */
async function measure({ name, perSecond, ms, fleet, control }) {
  const order = orderOf(name, perSecond);
  const { settleMs, keys: ofCase } = cases[name];
  if (settleMs !== undefined) await fleet.drive({ ...order, ms: settleMs });
  let parts;
  const drive = async ({ ms: forMs }) => (parts = await fleet.drive({ ...order, ms: forMs }));
  const cell = openCell();
  await addSlice({ processes: { drive }, cell, controls: [control], sends: [], ms });
  const { checks, seconds, redisUs } = cell;
  // By the clients' count, which leaves heartbeats out: one a second for an app, whatever it asks.
  const [calls, asks] = ['calls', 'asks'].map((figure) => parts.reduce((sum, part) => sum + part[figure], 0));
  return {
    ...figuresOf(cell),
    offered: perSecond,
    busy: redisUs / (seconds * 1e6),
    perCall: checks / calls,
    asksPerCall: asks / calls,
    usPerAsk: redisUs / asks,
    asksPerPair: asks / seconds / (apps * ofCase),
  };
}

/** Requests a second at which Redis is about as busy as the case wants. */
async function findPace({ name, ...where }) {
  const { busy, guess, inProcess, perPair, keys: ofCase } = cases[name];
  if (inProcess) return perPair * ofCase * apps;
  const found = [guess];
  for (let step = 0; step < steps; step += 1) {
    const { redisCpuUs } = await measure({ name, perSecond: (busy * 1e6) / found.at(-1), ms: stepMs, ...where });
    found.push(redisCpuUs);
  }
  // The dearer of the last two: a step in which others had the cores makes Redis look cheap, and the pace one that cannot be kept.
  return (busy * 1e6) / Math.max(...found.slice(-2));
}

const { only, rounds, seconds } = readOptions(process.argv.slice(2), Object.keys(cases));
const redis = await startRedis();
const server = { host: redis.host, port: redis.port };
const control = new Redis(server);
const about = aboutLine(await describe(control, ['headgate', 'ioredis']));
console.log(
  `${about}\n${apps} apps in ${processes} processes, ${keys} keys; median (min..max) of ${rounds} rounds of ${seconds} s, cases in turn within each\n`,
);

const fleet = await startProcesses({
  count: processes,
  worker: join(import.meta.dirname, 'sizing/worker.mjs'),
  server,
  keys,
  perProcess,
  fleetSize: apps,
});
// Every counter is there before anything is measured. A log's are by then, and what is counted in the process needs none.
for (const rule of new Set(only.filter((name) => !cases[name].keysAt && !cases[name].inProcess).flatMap((name) => cases[name].rules))) {
  await fleet.fill({ names: [rule] });
}
// Of those, each is refused from then on.
if (only.includes('noted')) await fleet.drive({ ...orderOf('noted', 20_000), ms: 500 });
const paces = {};
for (const name of only) paces[name] = await findPace({ name, fleet, control });

const found = Object.fromEntries(only.map((name) => [name, []]));
for (let round = 0; round < rounds; round += 1) {
  for (const name of only) found[name].push(await measure({ name, perSecond: paces[name], ms: seconds * 1000, fleet, control }));
}
const degraded = await fleet.close();
control.disconnect();
await redis.stop();

const wrong = Object.values(found)
  .flat()
  .reduce((sum, one) => sum + one.wrong, 0);
console.log(report(Object.fromEntries(only.map((name) => [name, summarize(found[name])]))));
console.log(`\ndegraded answers: ${degraded}, wrong: ${wrong}; both must be 0`);
// With either the figures are worth nothing.
process.exitCode = degraded > 0 || wrong > 0 ? 1 : 0;
