import { GlideClient, Logger } from '@valkey/valkey-glide';
import { createLimiter, memoryStore, systemClock, tokenBucket } from 'headgate';
import { redisStore } from 'headgate/redis';
import { createClient } from 'redis';

const ruleNames = ['bench', 'second', 'third'];

/** What every Headgate here has: rules of one bucket each, and a deadline that a busy machine does not miss. */
async function limiterOver({ store, limit, mode = 'exact', names = ['bench'], close = () => undefined, ...options }) {
  const limiter = createLimiter({
    store,
    deadline: '2s',
    fleetSize: 1,
    rules: Object.fromEntries(names.map((name) => [name, { limit, mode }])),
    ...options,
  });
  await limiter.ready();
  return {
    limiter,
    passed: (decision) => decision.allowed,
    degraded: () => limiter.stats().degraded,
    async close() {
      await limiter.close();
      await close();
    },
  };
}

/** By `check`, or by `checkAll` where a request has several rules. */
function asking({ limiter, ...system }, { rules, cost }) {
  if (rules > 1) return { ...system, ask: (key) => limiter.checkAll(ruleNames.slice(0, rules).map((rule) => ({ rule, key }))) };
  if (cost > 1) return { ...system, ask: (key) => limiter.check('bench', key, { cost }) };
  return { ...system, ask: (key) => limiter.check('bench', key) };
}

const bucketOf = ({ most, refill }) => tokenBucket({ capacity: most, refill });

async function exact(env, { store, close }) {
  const names = ruleNames.slice(0, env.rules);
  const system = asking(await limiterOver({ store, close, limit: bucketOf(env), names }), env);
  // What is refused is noted, and then refused in the process.
  return { ...system, local: env.refuse };
}

async function byIoredis(env) {
  const client = await env.connect();
  return exact(env, { store: redisStore({ client }), close: () => client.disconnect() });
}

async function byNodeRedis(env) {
  const [{ host, port }] = env.servers;
  const client = createClient({ url: `redis://${host}:${port}` });
  await client.connect();
  return exact(env, { store: redisStore({ client }), close: () => client.destroy() });
}

async function byGlide(env) {
  Logger.init('off');
  const client = await GlideClient.createClient({ addresses: [env.servers[0]] });
  return exact(env, { store: redisStore({ client }), close: () => client.close() });
}

async function twoShards(env) {
  const [a, b] = await Promise.all(env.servers.map(env.connect));
  return exact(env, {
    // Its own prefix: to spread the keys of `headgate` in another way would be a mistake, and warned of.
    store: redisStore({ clients: { a, b }, prefix: 'two' }),
    close() {
      a.disconnect();
      b.disconnect();
    },
  });
}

async function leased(env) {
  const client = await env.connect();
  // Never empty, so that no check waits for a refill: what is measured is counting in the process.
  const limit = tokenBucket({ capacity: 1e9, refill: '1000000000/s' });
  const store = redisStore({ client, prefix: 'leased' });
  return { ...asking(await limiterOver({ store, limit, mode: 'lease', close: () => client.disconnect() }), env), local: true };
}

async function noted(env) {
  const client = await env.connect();
  const system = systemClock();
  const began = system.nowUs();
  // Costs what the system's clock costs, and runs a thousand times slower: no note is over before it was measured.
  const clock = { ...system, nowUs: () => began + Math.floor((system.nowUs() - began) / 1000) };
  const limiter = await limiterOver({
    store: redisStore({ client, prefix: 'noted' }),
    limit: bucketOf(env),
    notes: { max: Math.max(1000, env.keys) },
    clock,
    close: () => client.disconnect(),
  });
  // One that was not refused by a note counts as wrong.
  return { ...asking(limiter, env), passed: ({ allowed, source }) => allowed || source !== 'note', local: true };
}

async function inMemory(env) {
  const store = memoryStore({ maxKeys: 2 * env.keys });
  return { ...asking(await limiterOver({ store, limit: bucketOf(env) }), env), local: true };
}

export const headgateSystems = {
  headgate: { title: 'Headgate', package: 'headgate', start: byIoredis },
  'headgate-node-redis': { title: 'Headgate, node-redis', package: 'redis', start: byNodeRedis },
  'headgate-glide': { title: 'Headgate, glide', package: '@valkey/valkey-glide', start: byGlide },
  'headgate-lease': { title: 'Headgate, lease', package: 'headgate', start: leased },
  'headgate-noted': { title: 'Headgate, noted', package: 'headgate', start: noted },
  'headgate-one': { title: 'Headgate, one rule', package: 'headgate', start: (env) => byIoredis({ ...env, rules: 1 }) },
  'headgate-2-shards': { title: 'Headgate, 2 shards', package: 'headgate', start: twoShards, servers: 2 },
  'headgate-memory': { title: 'Headgate, memory', package: 'headgate', start: inMemory, sends: [] },
};
