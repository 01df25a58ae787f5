// npm run chaos: what becomes of decisions while Redis fails, one fault after the other. See README.md.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runnerImport } from 'vite';

const help = `npm run chaos -- [options]
  --only A,B      these faults only
  --client NAME   ioredis (default) or node-redis
  --seconds S     how long all is well before each fault, and after it (2)
  --json FILE     the rows as JSON, too`;

// The servers are those of the tests, in TypeScript, which Node 20 does not read.
const { module } = await runnerImport(join(import.meta.dirname, 'chaos.ts'), {
  root: join(import.meta.dirname, '../..'),
  configFile: false,
  logLevel: 'error',
});
const { faults, defaults, runFault, table } = module;

function readOptions(args) {
  const text = { type: 'string' };
  const { values } = parseArgs({ args, options: { only: text, client: text, seconds: text, json: text, help: { type: 'boolean' } } });
  const names = faults.map(({ name }) => name);
  if (values.help) {
    console.log(`${help}\nfaults: ${names.join(', ')}`);
    process.exit(0);
  }
  const { client = defaults.client, only = names.join(','), json } = values;
  const seconds = Number(values.seconds ?? defaults.seconds);
  const unknown = only.split(',').find((name) => !names.includes(name));
  if (unknown !== undefined) throw new TypeError(`--only: unknown fault ${JSON.stringify(unknown)}; there are ${names.join(', ')}`);
  if (client !== 'ioredis' && client !== 'node-redis')
    throw new TypeError(`--client: ioredis or node-redis; got ${JSON.stringify(client)}`);
  if (!(seconds >= 2)) throw new TypeError(`--seconds: expected a number of at least 2; got ${JSON.stringify(values.seconds)}`);
  return { client, only: only.split(','), seconds, json };
}

/** A fault whose run itself fails is a row that says so. */
const broken = ({ name, title }, error) => ({
  fault: name,
  title,
  slowestMs: NaN,
  p999Ms: NaN,
  late: 0,
  breaches: '',
  sources: {},
  errors: 1,
  busy: NaN,
  setAside: [],
  reasons: [`the run failed: ${error.stack ?? error}`],
});

const { only, json, ...options } = readOptions(process.argv.slice(2));
const rows = [];
for (const fault of faults.filter(({ name }) => only.includes(name))) {
  const row = await runFault(fault, options).catch((error) => broken(fault, error));
  console.error(`${row.reasons.length === 0 ? 'ok   ' : 'FAILS'} ${fault.title}`);
  rows.push(row);
}
console.log(`\n4 processes, 500 checks/s each, ${options.client}, deadline 10 ms\n\n${table(rows)}`);
if (json !== undefined) writeFileSync(json, `${JSON.stringify({ at: new Date().toISOString(), ...options, rows }, undefined, 2)}\n`);
process.exit(rows.every(({ reasons }) => reasons.length === 0) ? 0 : 1);
