// npm run attack:new-keys: an attacker who makes up a new key for every request. What does each cost Redis, and what is left of it afterwards?
import { parseArgs } from 'node:util';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createLimiter, tokenBucket } from 'headgate';
import { redisStore } from 'headgate/redis';
import { startRedis } from '../../tools/redis.mjs';

const { values } = parseArgs({
  options: { 'per-second': { type: 'string', default: '20000' }, seconds: { type: 'string', default: '60' } },
});
const [perSecond, seconds] = [Number(values['per-second']), Number(values.seconds)];
/** Each key's bucket is full again after so long: until then its counter is of use. */
const lastsSeconds = 60;
const stepMs = 10;
/** More that wait would be answered late: the attack is then slower than it should be, and the run says so. */
const mostWaiting = 5000;

const whole = (n) => Math.round(n).toLocaleString('en');
const mebibytes = (bytes) => (bytes / 2 ** 20).toFixed(0);

const server = await startRedis();
const { host, port } = server;
const control = new Redis({ host, port });
const client = new Redis({ host, port });
const limiter = createLimiter({
  store: redisStore({ client, keySecret: 'a secret of this run' }),
  deadline: '5s',
  fleetSize: 1,
  rules: { perIp: { limit: tokenBucket({ capacity: 1, refill: `1/${lastsSeconds}s` }) } },
});
await limiter.ready();

async function inRedis() {
  const [keys, info] = await Promise.all([control.dbsize(), control.info('memory')]);
  return { keys, bytes: Number(/used_memory:(\d+)/.exec(info)?.[1]) };
}

/** A made-up address of IPv6, never the same. */
const keyOf = (n) => `2001:db8:${((n >>> 16) & 0xffff).toString(16)}:${(n & 0xffff).toString(16)}::/64`;

await limiter.check('perIp', 'nobody');
const before = await inRedis();
let [asked, waiting, late] = [0, 0, 0];
const began = performance.now();
for (let elapsed = 0; elapsed < seconds * 1000; elapsed = performance.now() - began) {
  const due = Math.floor((elapsed / 1000) * perSecond);
  for (; asked < due; asked += 1) {
    if (waiting >= mostWaiting) {
      late += 1;
      break;
    }
    waiting += 1;
    void limiter.check('perIp', keyOf(asked)).finally(() => (waiting -= 1));
  }
  await pause(stepMs);
}
while (waiting > 0) await pause(stepMs);
const took = (performance.now() - began) / 1000;
const most = await inRedis();
const keys = most.keys - before.keys;
const bytes = most.bytes - before.bytes;
const calculated = (asked / took) * Math.min(lastsSeconds, took);
console.log(`${whole(asked / took)} new keys a second for ${took.toFixed(0)} s, each of use for ${lastsSeconds} s`);
console.log(`keys in Redis        ${whole(keys)} (calculated: ${whole(calculated)})`);
console.log(`memory for them      ${mebibytes(bytes)} MiB, ${(bytes / keys).toFixed(0)} bytes a key`);
if (late > 0) console.log(`(${whole(late)} times so much waited that the attack paused: the machine is slower than the attack)`);

await pause((lastsSeconds + 5) * 1000);
let after = await inRedis();
// Redis looks for what has expired some keys at a time.
for (let i = 0; i < 100 && after.keys > before.keys; i += 1, after = await inRedis()) await pause(500);
const { degraded } = limiter.stats();
console.log(
  `afterwards           ${whole(Math.max(0, after.keys - before.keys))} keys, ${mebibytes(Math.max(0, after.bytes - before.bytes))} MiB`,
);
console.log(`degraded decisions   ${degraded}`);
await limiter.close();
client.disconnect();
control.disconnect();
await server.stop();
process.exitCode = degraded > 0 || keys > calculated * 1.05 || after.keys > before.keys ? 1 : 0;
