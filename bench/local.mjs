// npm run bench:local: what counting in the process buys, and how exact it is. See README.md.
import { Redis } from 'ioredis';
import { startRedis } from '../tools/redis.mjs';
import { aboutLine, describe } from './about.mjs';
import { speed, speedGoals, speedLines, waits, waitsGoals, waitsLines } from './local/alone.mjs';
import { leases, leasesGoals, leasesTable } from './local/leases.mjs';
import { readOptions } from './local/options.mjs';
import { sync, syncGoals, syncTable } from './local/sync.mjs';
import { goalLine } from './table.mjs';

/** Lines of a table whose columns are as wide as they must be; the first `left` columns are names. */
function lines({ title, head, body }, left = 2) {
  const rows = [head, ...body];
  const widths = head.map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  const line = (row) => row.map((text, i) => (i < left ? text.padEnd(widths[i]) : text.padStart(widths[i]))).join('  ');
  return [`${title}`, ...rows.map(line)];
}

/** A part that was driven by several processes: nothing degraded, nothing thrown. */
function soundness(name, rows) {
  const degraded = rows.reduce((sum, row) => sum + row.degraded, 0);
  const errors = rows.flatMap((row) => row.errors);
  if (errors.length > 0) console.error(errors[0]);
  return [
    { text: `${name}: degraded decisions`, value: degraded, goal: 0, met: degraded === 0, hard: true },
    { text: `${name}: errors`, value: errors.length, goal: 0, met: errors.length === 0, hard: true },
  ];
}

const options = readOptions(process.argv.slice(2));
const server = await startRedis();
const control = new Redis({ host: server.host, port: server.port });
console.log(`${aboutLine(await describe(control, ['ioredis']))}\n`);
const redis = { host: server.host, port: server.port };

const parts = {
  async speed() {
    const found = await speed({ server: redis, rounds: options.rounds, seconds: 1 });
    return { text: speedLines(found), goals: speedGoals(found) };
  },
  async waits() {
    const found = await waits({ server: redis, seconds: 3, perSecond: 20_000 });
    return { text: waitsLines(found), goals: waitsGoals(found) };
  },
  async leases() {
    const rows = await leases({ server: redis, seconds: options.seconds });
    return { text: lines(leasesTable(rows)), goals: [...leasesGoals(rows), ...soundness('leases', rows)] };
  },
  async sync() {
    const found = await sync({ server: redis, windows: options.windows, full: options.full });
    return { text: lines(syncTable(found)), goals: [...syncGoals(found), ...soundness('sync', found.rows)] };
  },
};

const goals = [];
for (const name of options.only) {
  const part = await parts[name]();
  console.log(`${part.text.join('\n')}\n`);
  goals.push(...part.goals);
}
for (const goal of goals) console.log(goalLine(goal, {}));
control.disconnect();
await server.stop();
// Speed depends on the machine; what must hold on any is hard.
process.exitCode = goals.some(({ hard, met }) => hard && !met) ? 1 : 0;
