// What many versions of rules cost: node --expose-gc bench/rule-changes.mjs [--changes 100000] [--rules 50] [--database URL]
// and, before, how long decisions wait while one rule of many changes: [--stalls 10000] (rules; 0: not measured)
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readDatabaseUrl } from '../packages/server/dist/database/address.js';
import { openDatabase } from '../packages/server/dist/database/open.js';
import { measureStalls } from './rule-stalls.mjs';

const { values } = parseArgs({
  options: {
    changes: { type: 'string', default: '100000' },
    rules: { type: 'string', default: '50' },
    database: { type: 'string' },
    stalls: { type: 'string', default: '10000' },
  },
});
const [changes, count] = [Number(values.changes), Number(values.rules)];
const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
const file = join(folder, 'rules.db');
if (Number(values.stalls) > 0)
  await measureStalls({ url: values.database ?? `sqlite:${join(folder, 'stalls.db')}`, count: Number(values.stalls) });

const database = openDatabase(readDatabaseUrl(values.database ?? `sqlite:${file}`));
const { rules } = database;

const body = (limit) => ({
  limit: { tokenBucket: { capacity: 1 + (limit % 1000), refill: '5/s' } },
  match: { path: `/v1/items/${limit}` },
  key: ['apiKey'],
});
const nameOf = (index) => `rule ${index % count}`;
const memory = () => {
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  return `heap ${(heapUsed / 1e6).toFixed(1)} MB, rss ${(rss / 1e6).toFixed(0)} MB`;
};
async function timed(what, work) {
  const times = [];
  for (let times_ = 0; times_ < 5; times_ += 1) {
    const since = performance.now();
    await work();
    times.push(performance.now() - since);
  }
  console.log(`  ${what}: ${times.sort((a, b) => a - b)[2].toFixed(2)} ms`);
}

let { version } = await rules.current();
const file0 = { version: 1, rules: Array.from({ length: count }, (_, index) => ({ name: nameOf(index), ...body(index) })) };
({ version } = await rules.importAll({ base: version, author: 'bench', reason: '', file: file0 }));
const first = version;
const began = performance.now();
for (let index = 1; index <= changes; index += 1) {
  ({ version } = await rules.change({
    base: version,
    author: 'bench',
    reason: `change ${index}`,
    put: { [nameOf(index * 7)]: body(first * changes + index) },
  }));
  // As between requests: else nothing that the driver holds is let go of.
  await turn();
  if (index % Math.ceil(changes / 5) === 0) {
    const each = ((performance.now() - began) / index).toFixed(2);
    console.log(`${index} changes, ${each} ms each; ${memory()}`);
    await timed('current', () => rules.current());
  }
}
console.log(`at version ${version}:`);
await timed('edition', () => rules.edition());
await timed('at the first', () => rules.at(first));
await timed('at the middle', () => rules.at(first + Math.floor(changes / 2)));
await timed('diff of the last two', () => rules.diff(version - 1, version));
await timed('diff over half of all', () => rules.diff(first + Math.floor(changes / 2), version));
await timed('history, 50', () => rules.history({ limit: 50 }));
await timed('history of one rule, 50', () => rules.history({ limit: 50, rule: nameOf(7) }));
if (values.database === undefined)
  console.log(`file ${(statSync(file).size / 1e6).toFixed(1)} MB, log ${(statSync(`${file}-wal`).size / 1e6).toFixed(1)} MB`);
await database.close();
rmSync(folder, { recursive: true });
