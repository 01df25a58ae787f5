// npm run bench: what an exact check costs, beside the two packages most used for it. See README.md.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startRedis } from '../tools/redis.mjs';
import { aboutLine, describe } from './about.mjs';
import { addSlice, figuresOf, fill, keyRing, openCell } from './measure.mjs';
import { readOptions } from './options.mjs';
import { goalsOf, summarize } from './summary.mjs';
import { systems } from './systems.mjs';
import { goalLine, table } from './table.mjs';

const titles = Object.fromEntries(Object.entries(systems).map(([name, { title }]) => [name, title]));

/** A cell is measured in so many slices: the systems take turns so quickly that a noisy neighbour meets all of them. */
const slices = 5;

/** One round at one number in flight: a cell for each system, slice by slice, in an order that moves on by one each time. */
async function runRound({ round, inFlight, options, running, keys, control }) {
  const names = options.only.filter((name) => (systems[name].at ?? inFlight) === inFlight);
  const cells = Object.fromEntries(names.map((name) => [name, openCell(options.seconds)]));
  for (let slice = 0; slice < slices; slice += 1) {
    const shift = (round + slice) % Math.max(1, names.length);
    for (const name of [...names.slice(shift), ...names.slice(0, shift)]) {
      const ms = (options.seconds * 1000) / slices;
      await addSlice({ system: running[name], cell: cells[name], keys, inFlight, ms, control });
    }
  }
  return names.map((name) => ({ round, system: name, inFlight, ...figuresOf(cells[name]) }));
}

async function runRounds({ options, running, keys, control }) {
  const cells = [];
  for (let round = 0; round < options.rounds; round += 1) {
    for (const inFlight of options.inFlight) cells.push(...(await runRound({ round, inFlight, options, running, keys, control })));
    console.error(`round ${round + 1} of ${options.rounds}`);
  }
  return cells;
}

async function main() {
  const options = readOptions(process.argv.slice(2), Object.keys(systems));
  const server = await startRedis();
  const connect = async () => {
    const client = new Redis({ host: server.host, port: server.port, lazyConnect: true });
    await client.connect();
    return client;
  };
  const control = await connect();
  const about = await describe(control, ['ioredis', ...options.only.flatMap((name) => systems[name].package ?? [])]);
  console.log(aboutLine(about));
  console.log(
    `${options.keys} keys, 1 process; median (min..max) of ${options.rounds} rounds of ${options.seconds} s, systems in turn within each, ` +
      `in slices of ${options.seconds / slices} s\n`,
  );

  const keys = keyRing(options.keys);
  const running = {};
  for (const name of options.only) {
    running[name] = await systems[name].start(connect);
    await fill({ ask: running[name].ask, keys });
  }
  const cells = await runRounds({ options, running, keys, control });
  const degraded = running.headgate?.degraded();
  for (const system of Object.values(running)) await system.close();
  control.disconnect();
  await server.stop();

  const rows = summarize(cells);
  const goals = goalsOf({ cells, rows, degraded });
  console.log(table(rows, titles));
  for (const goal of goals) console.log(goalLine(goal, titles));
  const refused = cells.reduce((sum, cell) => sum + cell.refused, 0);
  if (refused > 0) console.log(`${refused} checks were refused: the figures are not those of allowed checks`);

  const file = join(import.meta.dirname, 'results/latest.json');
  mkdirSync(join(import.meta.dirname, 'results'), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ ...about, options, goals, rows, cells }, undefined, 2)}\n`);
  console.log(`\nwritten: ${file}`);
  // Goals depend on the machine; degraded or refused checks make the figures worthless on any.
  process.exitCode = refused > 0 || (degraded ?? 0) > 0 ? 1 : 0;
}

await main();
