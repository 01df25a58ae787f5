// npm run bench:compare: two or more builds of Headgate beside each other, to see what an attempt gave. See README.md.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { startRedis } from '../tools/redis.mjs';
import { addSlice, figuresOf, openCell } from './cell.mjs';
import { number } from './number.mjs';
import { startProcesses } from './processes.mjs';
import { summarize } from './summary.mjs';
import { table } from './table.mjs';

const help = `npm run bench:compare -- FOLDER FOLDER ... [options]
  FOLDER         a checkout that is built (npm run build); "." is this one
  --in-flight A,B  checks in flight (1,256)
  --rules N        rules per request (1)
  --store S        redis or memory (redis)
  --processes N    processes of each build, as no two of one build are alike (3)
  --rounds N       rounds; medians are over these and the processes (40)
  --seconds S      how long one cell is measured (0.1)
  --keys N         how many keys are checked (100000)`;

const { values, positionals: folders } = parseArgs({
  allowPositionals: true,
  options: {
    'in-flight': { type: 'string', default: '1,256' },
    rules: { type: 'string', default: '1' },
    store: { type: 'string', default: 'redis' },
    processes: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '40' },
    seconds: { type: 'string', default: '0.1' },
    keys: { type: 'string', default: '100000' },
    help: { type: 'boolean', default: false },
  },
});
const inMemory = values.store === 'memory';
if (values.help || folders.length === 0 || (!inMemory && values.store !== 'redis')) {
  console.log(help);
  process.exit(values.help ? 0 : 2);
}
const inFlights = values['in-flight'].split(',').map((text) => number('in-flight', text, 1));
const [rules, rounds, copies] = ['rules', 'rounds', 'processes'].map((name) => number(name, values[name], 1));
const ms = number('seconds', values.seconds, 0.05) * 1000;
const keys = number('keys', values.keys, 1);

/** One process of a build with a Redis of its own: in one process two builds would compile each other's code anew. */
async function open(folder, name) {
  const server = inMemory ? undefined : await startRedis();
  const address = server && { host: server.host, port: server.port };
  const worker = join(import.meta.dirname, 'compare-worker.mjs');
  const processes = await startProcesses({ count: 1, worker, folder, server: address, rules, keys });
  const controls = address ? [new Redis(address)] : [];
  const stop = async () => {
    const degraded = await processes.close();
    for (const control of controls) control.disconnect();
    await server?.stop();
    return degraded;
  };
  return { name, processes, controls, stop };
}

const shuffled = (list) =>
  list
    .map((item) => [Math.random(), item])
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);

const builds = [];
for (let copy = 0; copy < copies; copy += 1)
  for (const [place, folder] of folders.entries()) builds.push(await open(folder, `${place + 1}: ${folder}`));
const warmUpMs = 1500;
const cells = [];
for (let round = -1; round < rounds; round += 1) {
  for (const inFlight of inFlights) {
    // Not one after the other in the same order: whoever comes after a certain one would always find what that leaves.
    for (const { name, processes, controls } of shuffled(builds)) {
      const cell = openCell();
      await addSlice({ processes, cell, controls, sends: ['evalsha'], inFlight, ms: round < 0 ? warmUpMs : ms });
      if (round >= 0) cells.push({ scenario: 'compare', round, processes: 1, system: name, inFlight, ...figuresOf(cell) });
    }
  }
}
console.log(`${rules} rule(s) per request, ${keys} keys, ${copies} processes of each build, ${rounds} rounds of ${ms / 1000} s\n`);
const rows = summarize(cells);
console.log(table(rows, (name) => name));
for (const inFlight of inFlights) {
  const [first, ...others] = folders.map((folder, place) =>
    rows.find((row) => row.system === `${place + 1}: ${folder}` && row.inFlight === inFlight),
  );
  const over = (row, figure) => (row[figure].median / first[figure].median).toFixed(2);
  for (const row of others)
    console.log(
      `${inFlight} in flight, ${row.system} over the first: checks/s ${over(row, 'checksPerSecond')}, p50 ${over(row, 'p50Ms')}, client CPU ${over(row, 'clientCpuUs')}`,
    );
}
const degraded = await Promise.all(builds.map(({ stop }) => stop()));
const wrong = cells.reduce((sum, cell) => sum + cell.wrong, 0);
console.log(`degraded answers: ${degraded.reduce((sum, n) => sum + n, 0)}, wrong: ${wrong}; both must be 0`);
process.exitCode = wrong > 0 || degraded.some((n) => n > 0) ? 1 : 0;
