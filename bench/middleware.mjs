// npm run bench:middleware: what a middleware costs a bare route, beside express-rate-limit and @fastify/rate-limit. See README.md.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { startRedis } from '../tools/redis.mjs';
import { aboutLine, describe } from './about.mjs';
import { names } from './middleware/limits.mjs';
import { number } from './number.mjs';
import { drive, openConnection, render } from './service/client.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '0.5' },
    connections: { type: 'string', default: '16' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log('npm run bench:middleware -- [--rounds N] [--seconds S of one cell] [--connections N]');
  process.exit();
}
const rounds = number('rounds', values.rounds, 1);
const ms = number('seconds', values.seconds, 0.05) * 1000;
const many = number('connections', values.connections, 1);

const frameworks = { express: 'express-rate-limit', fastify: '@fastify/rate-limit' };
const titles = { bare: 'bare route', 'headgate-memory': 'Headgate, memory', 'headgate-lease': 'Headgate, Redis, leased' };
const titleOf = (framework, name) => titles[name] ?? `${frameworks[framework]}, ${name === 'theirs-memory' ? 'memory' : 'Redis'}`;
const requests = [render({ method: 'GET', path: '/' })];

/** CPU time of a process, all its threads, in microseconds: user and system time in ticks of 10 ms, fields 14 and 15. */
function cpuUsOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

async function open(framework, name, redisPort) {
  const child = fork(join(import.meta.dirname, 'middleware/server.mjs'), [framework, name, String(redisPort)]);
  const [port] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`${framework} with ${name} ended with ${code}`))),
  ]);
  const connections = await Promise.all(Array.from({ length: many }, () => openConnection(port)));
  return { framework, name, child, connections, cells: [] };
}

async function measure({ child, connections, cells }, isWarmUp) {
  const before = cpuUsOf(child.pid);
  const { latencies, wrong, seconds } = await drive({ connections, requests, status: 200, ms });
  const cpuUs = cpuUsOf(child.pid) - before;
  if (!isWarmUp) cells.push({ perSecond: latencies.length / seconds, cpuUs: cpuUs / latencies.length, wrong });
}

function spread(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return { median: sorted[Math.floor(sorted.length / 2)], min: sorted[0], max: sorted.at(-1) };
}
const shown = ({ median, min, max }, digits) => `${median.toFixed(digits)} [${min.toFixed(digits)}-${max.toFixed(digits)}]`;

const redis = await startRedis();
const control = new Redis(redis.port, redis.host);
const about = await describe(control, ['express', 'fastify', 'express-rate-limit', 'rate-limit-redis', '@fastify/rate-limit']);
console.log(`${aboutLine(about)}; ${many} connections, ${rounds} rounds of ${ms / 1000} s; medians [smallest-largest]`);

/** The ratio of requests/s within each round: what else the machine does meets both. */
function goal(apps, ours, theirs) {
  const [a, b] = [ours, theirs].map((name) => apps.find((app) => app.name === name));
  const ratio = spread(a.cells.map(({ perSecond }, round) => perSecond / b.cells[round].perSecond));
  const verdict = ratio.min > 1 ? 'met' : ratio.median > 1 ? 'met by the median' : 'NOT met';
  const said = `${titleOf(a.framework, ours)} ahead of ${titleOf(a.framework, theirs)}`;
  return `${verdict}: ${a.framework}: ${said} in requests/s: ${shown(ratio, 2)} times`;
}

let wrong = 0;
const goals = [];
for (const framework of Object.keys(frameworks)) {
  const apps = [];
  for (const name of names) apps.push(await open(framework, name, redis.port));
  for (let round = -2; round < rounds; round += 1) {
    const shift = (round + 2) % apps.length;
    for (const app of [...apps.slice(shift), ...apps.slice(0, shift)]) await measure(app, round < 0);
  }
  console.log(`\n${framework.padEnd(30)} ${'requests/s'.padEnd(26)} server CPU us per request`);
  for (const { name, cells } of apps) {
    const [perSecond, cpuUs] = [spread(cells.map((cell) => cell.perSecond)), spread(cells.map((cell) => cell.cpuUs))];
    console.log(`${titleOf(framework, name).padEnd(30)} ${shown(perSecond, 0).padEnd(26)} ${shown(cpuUs, 0)}`);
    wrong += cells.reduce((sum, cell) => sum + cell.wrong, 0);
  }
  goals.push(goal(apps, 'headgate-memory', 'theirs-memory'), goal(apps, 'headgate-lease', 'theirs-redis'));
  for (const { child, connections } of apps) {
    for (const connection of connections) connection.close();
    child.kill();
  }
}
console.log(`\n${goals.join('\n')}\nwrong answers: ${wrong}; must be 0`);
control.disconnect();
await redis.stop();
process.exit(wrong === 0 ? 0 : 1);
