// npm run demo: one limit of 300 requests a minute, eight servers, three ways to count.
import { setTimeout as sleep } from 'node:timers/promises';
import { drive, startFleet } from './fleet.mjs';
import { startRedis } from '../../tools/redis.mjs';

const limit = 300;
const servers = 8;
const share = Math.floor(limit / servers);

/** Windows begin with the minute: a run that crosses its edge would be counted in two. */
async function awayFromTheEdge(seconds) {
  const left = 60 - ((Date.now() / 1000) % 60);
  if (left > seconds) return;
  console.log(`waiting ${Math.ceil(left)} s for the next minute, so that no run crosses its edge`);
  await sleep(left * 1000 + 100);
}

async function measure({ what, counting, perServer, sticky = false, total, joining = 0, expected }) {
  await awayFromTheEdge(15);
  const fleet = await startFleet({ size: servers, counting, limit: perServer, redisPort: redis.port, sticky });
  try {
    const before = drive(fleet.port, what, joining > 0 ? total / 2 : total);
    if (joining > 0) await fleet.join(joining);
    const first = await before;
    const second = joining > 0 ? await drive(fleet.port, what, total / 2) : { passed: 0, degraded: 0 };
    return { what, sent: total, passed: first.passed + second.passed, expected, degraded: first.degraded + second.degraded };
  } finally {
    await fleet.stop();
  }
}

console.log(`A limit of ${limit} requests a minute for one client, on ${servers} servers behind a balancer.\n`);
const redis = await startRedis();
let rows;
try {
  rows = [
    await measure({ what: 'a counter in each server', counting: 'own', perServer: limit, total: 3000, expected: limit * servers }),
    await measure({
      what: `split limits (${share} each), client on one server`,
      counting: 'split',
      perServer: share,
      sticky: true,
      total: limit,
      expected: share,
    }),
    await measure({ what: 'Headgate, spread over all servers', counting: 'headgate', perServer: limit, total: 3000, expected: limit }),
    await measure({
      what: 'Headgate, client on one server',
      counting: 'headgate',
      perServer: limit,
      sticky: true,
      total: 3000,
      expected: limit,
    }),
    await measure({
      what: 'Headgate, while servers 9 to 12 join',
      counting: 'headgate',
      perServer: limit,
      total: 3000,
      joining: 4,
      expected: limit,
    }),
  ];
} finally {
  await redis.stop();
}

const width = Math.max(...rows.map(({ what }) => what.length));
console.log(`${''.padEnd(width)}   sent  passed  should`);
for (const { what, sent, passed } of rows)
  console.log(
    `${what.padEnd(width)}  ${String(sent).padStart(5)}  ${String(passed).padStart(6)}  ${String(what.startsWith('split') ? sent : limit).padStart(6)}`,
  );
const wrong = rows.filter(({ passed, expected }) => passed !== expected);
const degraded = rows.reduce((sum, row) => sum + row.degraded, 0);
console.log(`\ndecisions made without the shared store: ${degraded}`);
for (const { what, passed, expected } of wrong) console.error(`${what}: ${passed} passed, ${expected} were expected`);
process.exit(wrong.length === 0 && degraded === 0 ? 0 : 1);
