// The systems that are measured. Each takes a way to make ioredis clients, all with the same options, and asks the way a
// program that uses the package would: `ask(key)` is a promise, `passed(answer)` whether the request may go on.
import { createLimiter, tokenBucket } from 'headgate';
import { redisStore } from 'headgate/redis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { RedisStore } from 'rate-limit-redis';
import { createHash } from 'node:crypto';

// So high that nothing is refused, and so slow that no key expires during the run: every check reads and writes a counter.
const capacity = 1_000_000;
const windowSeconds = 24 * 3600;

async function headgate(connect) {
  const client = await connect();
  const limiter = createLimiter({
    store: redisStore({ client }),
    deadline: '2s',
    rules: { bench: { limit: tokenBucket({ capacity, refill: '1/m' }) } },
  });
  await limiter.ready();
  return {
    ask: (key) => limiter.check('bench', key),
    passed: (decision) => decision.allowed,
    degraded: () => limiter.stats().degraded,
    async close() {
      await limiter.close();
      client.disconnect();
    },
  };
}

async function flexible(connect) {
  const client = await connect();
  const limiter = new RateLimiterRedis({ storeClient: client, points: capacity, duration: windowSeconds, keyPrefix: 'rlf' });
  // Rejects if refused, which would end the run: nothing is refused here.
  return { ask: (key) => limiter.consume(key), passed: () => true, close: () => client.disconnect() };
}

async function rlr(connect) {
  const client = await connect();
  const store = new RedisStore({ sendCommand: (...args) => client.call(...args) });
  await store.init({ windowMs: windowSeconds * 1000 });
  // What the middleware of express-rate-limit does with its store for each request.
  return { ask: (key) => store.increment(key), passed: ({ totalHits }) => totalHits <= capacity, close: () => client.disconnect() };
}

// The leanest token bucket that is still correct at one microsecond: three commands, one call for each check.
const leanest = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local v = redis.call('GET', KEYS[1])
local used = 0
if v then
  local c = string.find(v, ':', 1, true)
  used = math.max(0, string.sub(v, 1, c - 1) - (now - string.sub(v, c + 1)) * ARGV[2])
end
if used + 1 > tonumber(ARGV[1]) then return -1 end
redis.call('SET', KEYS[1], string.format('%.6f:%d', used + 1, now), 'PX', math.ceil((used + 1) / ARGV[2] / 1000))
return 1`;

async function raw(connect) {
  const client = await connect();
  const sha = createHash('sha1').update(leanest).digest('hex');
  await client.script('LOAD', leanest);
  const refill = String(1 / 60e6);
  const ask = (key) => client.evalsha(sha, 1, `raw:${key}`, String(capacity), refill);
  return { ask, passed: (reply) => reply === 1, close: () => client.disconnect() };
}

/** By the name that `--only` takes. `at`: only measured with so many in flight. */
export const systems = {
  headgate: { title: 'Headgate', package: 'headgate', start: headgate },
  flexible: { title: 'rate-limiter-flexible', package: 'rate-limiter-flexible', start: flexible },
  rlr: { title: 'rate-limit-redis', package: 'rate-limit-redis', start: rlr },
  raw: { title: 'raw EVALSHA', start: raw, at: 1 },
};
