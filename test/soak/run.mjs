// npm run soak: a steady load over a Redis that is disturbed now and then; does anything grow? See README.md.
import { writeFileSync } from 'node:fs';
import { startRedis } from '../../tools/redis.mjs';
import { readOptions } from './options.mjs';
import { report, sampleLine } from './report.mjs';
import { soak } from './soak.mjs';
import { judge } from './verdict.mjs';

const options = readOptions(process.argv.slice(2));
const { minutes, rate, processes, client, json } = options;

// Then what was started ends with us.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/** A line for each minute; of a short run for each tenth. */
function lines() {
  const everyMs = Math.min(60_000, minutes * 6000);
  let next = everyMs;
  return (sample) => {
    if (sample.atMs < next) return;
    next += everyMs;
    console.log(sampleLine(sample));
  };
}

console.log(`${processes} process${processes === 1 ? '' : 'es'}, ${rate} calls/s in all, ${client}, ${minutes} min\n`);
const redis = await startRedis();
let run;
try {
  run = await soak(options, { redis, tell: lines() });
} finally {
  await redis.stop();
}
const verdict = judge(run);
console.log(`\n${report(verdict, run)}`);
if (json !== undefined) writeFileSync(json, `${JSON.stringify({ at: new Date().toISOString(), ...options, verdict, ...run })}\n`);
process.exit(verdict.ok ? 0 : 1);
