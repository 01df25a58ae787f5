// express-rate-limit has no call without HTTP: measured is what its middleware does with its store for each request.
import { MemoryStore } from 'express-rate-limit';
import { RedisStore } from 'rate-limit-redis';

async function asking(store, { most, windowSeconds }) {
  await store.init({ windowMs: windowSeconds * 1000 });
  return { ask: (key) => store.increment(key), passed: ({ totalHits }) => totalHits <= most };
}

async function overRedis(env) {
  const client = await env.connect();
  const store = new RedisStore({ sendCommand: (...args) => client.call(...args) });
  return { ...(await asking(store, env)), close: () => client.disconnect() };
}

async function inMemory(env) {
  const store = new MemoryStore();
  return { ...(await asking(store, env)), local: true, close: () => store.shutdown() };
}

export const expressSystems = {
  rlr: { title: 'rate-limit-redis', package: 'rate-limit-redis', start: overRedis },
  'express-memory': { title: 'express-rate-limit', package: 'express-rate-limit', start: inMemory, sends: [] },
};
