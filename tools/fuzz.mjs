// Sends the service far more fuzzed requests than `npm test` does: npm run fuzz -- [--seed 7] [--count 100000]
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) }, count: { type: 'string', default: '50000' } },
});
for (const [name, text] of Object.entries(values)) {
  if (/^\d{1,10}$/.test(text)) continue;
  console.error(`--${name}: expected a whole number; got ${JSON.stringify(text)}`);
  process.exit(78);
}
console.log(`seed ${values.seed}, ${values.count} requests to each service; --seed ${values.seed} repeats it`);
const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', 'packages/server/test/fuzz'], {
  cwd: join(import.meta.dirname, '..'),
  stdio: 'inherit',
  env: { ...process.env, SEED: values.seed, FUZZ_COUNT: values.count },
});
process.exit(status ?? 1);
