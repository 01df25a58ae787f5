// express-rate-limit has no call without HTTP. In memory measured is its middleware, with as much of a request and a response as it needs, and its store
// alone beside it; over Redis the store alone, which is the least it can cost.
import { MemoryStore, rateLimit } from 'express-rate-limit';
import { RedisStore } from 'rate-limit-redis';

async function storeAlone(store, { most, windowSeconds }) {
  await store.init({ windowMs: windowSeconds * 1000 });
  return { ask: (key) => store.increment(key), passed: ({ totalHits }) => totalHits <= most };
}

async function overRedis(env) {
  const client = await env.connect();
  const store = new RedisStore({ sendCommand: (...args) => client.call(...args) });
  return { ...(await storeAlone(store, env)), close: () => client.disconnect() };
}

async function storeInMemory(env) {
  const store = new MemoryStore();
  return { ...(await storeAlone(store, env)), local: true, close: () => store.shutdown() };
}

async function inMemory({ most, windowSeconds }) {
  const store = new MemoryStore();
  const middleware = rateLimit({
    windowMs: windowSeconds * 1000,
    limit: most,
    store,
    keyGenerator: ({ key }) => key,
    // The least that it can do for a request: no header fields, no warnings.
    standardHeaders: false,
    legacyHeaders: false,
    validate: false,
    handler: (_request, _response, next) => next('refused'),
  });
  const response = {};
  return {
    ask: (key) => new Promise((answered) => void middleware({ key }, response, answered)),
    passed: (refused) => refused === undefined,
    local: true,
    close: () => store.shutdown(),
  };
}

export const expressSystems = {
  rlr: { title: 'rate-limit-redis', package: 'rate-limit-redis', start: overRedis },
  'express-memory': { title: 'express-rate-limit', package: 'express-rate-limit', start: inMemory, sends: [] },
  'express-store': { title: "express-rate-limit's store alone", package: 'express-rate-limit', start: storeInMemory, sends: [] },
};
