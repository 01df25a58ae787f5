// npm run bench:compare: two or more builds of Headgate beside each other, to see what an attempt gave. See README.md.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { startRedis } from '../tools/redis.mjs';
import { addSlice, figuresOf, openCell } from './cell.mjs';
import { drive, fill, keyRing } from './measure.mjs';
import { number } from './number.mjs';
import { summarize } from './summary.mjs';
import { table } from './table.mjs';

const help = `npm run bench:compare -- FOLDER FOLDER ... [options]
  FOLDER         a checkout that is built (npm run build); "." is this one
  --in-flight A,B  checks in flight (1,256)
  --rules N        rules per request (1)
  --store S        redis or memory (redis)
  --rounds N       rounds; medians are over these (11)
  --seconds S      how long one cell is measured (0.5)
  --keys N         how many keys are checked (100000)`;

const { values, positionals: folders } = parseArgs({
  allowPositionals: true,
  options: {
    'in-flight': { type: 'string', default: '1,256' },
    rules: { type: 'string', default: '1' },
    store: { type: 'string', default: 'redis' },
    rounds: { type: 'string', default: '11' },
    seconds: { type: 'string', default: '0.5' },
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
const [rules, rounds] = [number('rules', values.rules, 1), number('rounds', values.rounds, 1)];
const ms = number('seconds', values.seconds, 0.05) * 1000;
const keys = keyRing(number('keys', values.keys, 1));

const server = await startRedis();
const { host, port } = server;
const control = new Redis({ host, port });

/** Each build over a client and a prefix of its own, all in this process. */
async function open(folder, place) {
  const dist = join(resolve(folder), 'packages/headgate/dist');
  // Builds of before there were bundles have none.
  const [index, redis] = existsSync(join(dist, 'bundle')) ? ['bundle/index.js', 'bundle/redis.js'] : ['index.js', 'stores/redis/index.js'];
  const { createLimiter, memoryStore, tokenBucket } = await import(join(dist, index));
  const { redisStore } = await import(join(dist, redis));
  const client = inMemory ? undefined : new Redis({ host, port });
  const limit = tokenBucket({ capacity: 4e6, refill: '1/m' });
  const names = Array.from({ length: rules }, (_, i) => `rule${i}`);
  const limiter = createLimiter({
    store: inMemory ? memoryStore({ maxKeys: 2 * keys.length }) : redisStore({ client, prefix: `p${place}` }),
    deadline: '2s',
    fleetSize: 1,
    rules: Object.fromEntries(names.map((name) => [name, { limit }])),
  });
  await limiter.ready();
  const ask = rules === 1 ? (key) => limiter.check('rule0', key) : (key) => limiter.checkAll(names.map((rule) => ({ rule, key })));
  await fill({ ask, keys });
  const system = { ask, passed: ({ allowed }) => allowed, local: inMemory };
  const close = async () => {
    await limiter.close();
    client?.disconnect();
    return limiter.stats().degraded;
  };
  return { name: `${place + 1}: ${folder}`, system, close };
}

const builds = [];
for (const [place, folder] of folders.entries()) builds.push(await open(folder, place));
const cells = [];
for (let round = -1; round < rounds; round += 1) {
  for (const inFlight of inFlights) {
    const shift = (round + builds.length) % builds.length;
    for (const { name, system } of [...builds.slice(shift), ...builds.slice(0, shift)]) {
      const cell = openCell();
      const processes = { drive: async (what) => [await drive({ system, keys, expected: true, ...what })] };
      await addSlice({ processes, cell, controls: [control], sends: ['evalsha'], inFlight, ms });
      // The first round warms up.
      if (round >= 0) cells.push({ scenario: 'compare', round, processes: 1, system: name, inFlight, ...figuresOf(cell) });
    }
  }
}
console.log(`${rules} rule(s) per request, ${keys.length} keys, ${rounds} rounds of ${ms / 1000} s\n`);
console.log(table(summarize(cells), (name) => name));
const degraded = await Promise.all(builds.map(({ close }) => close()));
control.disconnect();
await server.stop();
const wrong = cells.reduce((sum, cell) => sum + cell.wrong, 0);
console.log(`degraded answers: ${degraded.reduce((sum, n) => sum + n, 0)}, wrong: ${wrong}; both must be 0`);
process.exitCode = wrong > 0 || degraded.some((n) => n > 0) ? 1 : 0;
