// npm run bench:dead-shard: one of eight shards is dead; how much longer do the clients of the others wait? See README.md.
import { Redis } from 'ioredis';
import { createLimiter, tokenBucket } from 'headgate';
import { redisStore } from 'headgate/redis';
import { startRedis } from '../tools/redis.mjs';

const rounds = 9;
const keys = Array.from({ length: 4000 }, (_, i) => `client-${i}`);

const servers = await Promise.all(Array.from({ length: 8 }, () => startRedis()));
const dead = await startRedis();
await dead.stop();

function limiterOver(shards) {
  const clients = Object.fromEntries(shards.map(({ host, port }, i) => [`s${i}`, new Redis({ host, port, lazyConnect: true })]));
  for (const client of Object.values(clients)) client.on('error', () => undefined);
  const rules = { api: { limit: tokenBucket({ capacity: 1e6, refill: '1000/s' }) } };
  return createLimiter({ store: redisStore({ clients }), deadline: '2s', fleetSize: 1, onEvent: () => undefined, rules });
}

/** Every client once, eight every two milliseconds: how many were degraded, and what the others waited. */
async function round(limiter) {
  const waits = [];
  let degraded = 0;
  const ask = async (key) => {
    const began = performance.now();
    if ((await limiter.check('api', key)).degraded) degraded += 1;
    else waits.push(performance.now() - began);
  };
  const asked = [];
  for (let i = 0; i < keys.length; i += 8) {
    asked.push(...keys.slice(i, i + 8).map(ask));
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await Promise.all(asked);
  waits.sort((a, b) => a - b);
  return { degraded, p99: waits[Math.floor(waits.length * 0.99)] };
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const well = limiterOver(servers);
const without = limiterOver(servers.map((server, i) => (i === 3 ? dead : server)));
await well.ready();
for (const limiter of [well, without]) await round(limiter);
const pairs = [];
// In turn, so that whatever else the machine does meets both.
for (let i = 0; i < rounds; i += 1) pairs.push([await round(well), await round(without)]);

const p99 = [0, 1].map((of) => median(pairs.map((pair) => pair[of].p99)));
const ratio = p99[1] / p99[0];
console.log(
  `degraded: ${((median(pairs.map(([, { degraded }]) => degraded)) / keys.length) * 100).toFixed(1)} % of the clients (goal: 12.5 +- 1)`,
);
console.log(
  `p99 of the others: ${p99[1].toFixed(2)} ms, with all shards ${p99[0].toFixed(2)} ms: ${ratio.toFixed(2)} x (goal: at most 1.5)`,
);
for (const server of servers) await server.stop();
process.exit(ratio <= 1.5 ? 0 : 1);
