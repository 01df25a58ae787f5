// npm run bench: what a check costs, by Headgate and by others, in one run. See README.md.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { aboutLine, describe } from './about.mjs';
import { addSlice, figuresOf, openCell } from './cell.mjs';
import { goalsOf } from './goals.mjs';
import { guard, guarded } from './guard.mjs';
import { readOptions } from './options.mjs';
import { ownServers } from './own-servers.mjs';
import { startProcesses } from './processes.mjs';
import { blocksOf, scenarios, settingsOf } from './scenarios.mjs';
import { summarize } from './summary.mjs';
import { systems, titleOf } from './systems/index.mjs';
import { table, verdictLine } from './table.mjs';

/** A cell is measured in so many slices: the systems take turns so quickly that a noisy neighbour meets all of them. */
const slices = 3;

/**
 * Each system asks so often with each number in flight before anything is measured, as its code is compiled while it runs: after a few seconds of an app's life.
 * One that takes a script per check at 1 in flight and another at 256 runs other code there.
 */
const warmUp = { checks: 20_000, mostMs: 5000, sliceMs: 250 };

async function warm(processes, { name, inFlight }) {
  let checks = 0;
  for (let ms = 0; checks < warmUp.checks && ms < warmUp.mostMs; ms += warmUp.sliceMs) {
    const parts = await processes.drive({ name, inFlight, ms: warmUp.sliceMs });
    checks += Math.min(...parts.map((part) => part.checks));
  }
}

/** One block in one round: a cell for each system, slice by slice, in an order that moves on by one each time. */
async function runBlock({ round, block, options, processes, redis }) {
  const { names, inFlight } = block;
  const cells = Object.fromEntries(names.map((name) => [name, openCell()]));
  for (let slice = 0; slice < slices; slice += 1) {
    const shift = (round + slice) % names.length;
    for (const name of [...names.slice(shift), ...names.slice(0, shift)]) {
      const ms = (options.seconds * 1000) / slices;
      const { sends = ['evalsha'] } = systems[name];
      await addSlice({ processes, cell: cells[name], controls: await redis.controlsOf(name), sends, name, inFlight, ms });
    }
  }
  return names.map((name) => ({ round, processes: block.processes, inFlight, system: name, ...figuresOf(cells[name]) }));
}

/** All rounds of a scenario. `filled` remembers which counters are there, from one scenario to the next. */
async function runScenario({ scenario, blocks, options, redis, filled }) {
  const settings = settingsOf(scenario, options);
  const names = [...new Set(blocks.flatMap((block) => block.names))];
  const servers = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await redis.serversOf(name)])));
  const open = {};
  for (const count of new Set(blocks.map((block) => block.processes))) {
    open[count] = await startProcesses({ count, names, servers, ...settings });
    for (const name of names) {
      const counters = [name, settings.keys, settings.rules, settings.refuse].join(' ');
      await open[count].fill({ name, known: filled.has(counters) });
      filled.add(counters);
      for (const { inFlight } of blocks.filter((block) => block.processes === count && block.names.includes(name)))
        await warm(open[count], { name, inFlight });
    }
  }
  const cells = [];
  for (let round = 0; round < options.rounds; round += 1) {
    for (const block of blocks) cells.push(...(await runBlock({ round, block, options, processes: open[block.processes], redis })));
  }
  let degraded = 0;
  for (const processes of Object.values(open)) degraded += await processes.close();
  return { cells, degraded };
}

/** The guard looks at few of the numbers in flight. */
const isWanted = (name, options) => (block) =>
  !options.guard || guarded.ratios.some(({ at: [scenario, inFlight] }) => scenario === name && inFlight === block.inFlight);

async function main() {
  const options = readOptions(process.argv.slice(2), { systems: Object.keys(systems), scenarios: Object.keys(scenarios), guard });
  const chosen = options.scenarios
    .map((name) => ({ name, scenario: scenarios[name], blocks: blocksOf(scenarios[name], options).filter(isWanted(name, options)) }))
    .filter(({ blocks }) => blocks.length > 0);
  const redis = ownServers();
  const names = new Set(chosen.flatMap(({ blocks }) => blocks.flatMap((block) => block.names)));
  const packages = new Set(['headgate', 'ioredis', ...[...names].flatMap((name) => systems[name].package ?? [])]);
  const [control] = await redis.controlsOf('raw');
  const about = await describe(control, [...packages]);
  console.log(aboutLine(about));
  console.log(
    `${options.keys} keys where not said otherwise; median (min..max) of ${options.rounds} rounds of ${options.seconds} s, ` +
      `systems in turn within each, in slices of ${(options.seconds / slices).toFixed(2)} s\n`,
  );

  const cells = [];
  const rows = [];
  const filled = new Set();
  let degraded = 0;
  for (const { name, scenario, blocks } of chosen) {
    const found = await runScenario({ scenario, blocks, options, redis, filled });
    const these = found.cells.map((cell) => ({ scenario: name, ...cell }));
    cells.push(...these);
    rows.push(...summarize(these));
    degraded += found.degraded;
    console.log(`== ${scenario.title} (${name})\n${table(summarize(these), titleOf)}`);
  }
  await redis.stop();

  const wrong = cells.reduce((sum, cell) => sum + cell.wrong, 0);
  const measured = { cells, rows, degraded, wrong };
  const goals = options.guard ? goalsOf(measured, guarded) : goalsOf(measured);
  for (const goal of goals) console.log(verdictLine(goal));

  const file = join(import.meta.dirname, `results/${options.guard ? 'guard' : 'latest'}.json`);
  mkdirSync(join(import.meta.dirname, 'results'), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ ...about, options, goals, rows, cells }, undefined, 2)}\n`);
  console.log(`\nwritten: ${file}`);
  // Goals depend on the machine; degraded or wrong answers make the figures worthless on any.
  process.exitCode = wrong > 0 || degraded > 0 || (options.guard && !goals.every(({ met }) => met)) ? 1 : 0;
}

await main();
