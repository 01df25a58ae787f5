import { RateLimiterMemory, RateLimiterRedis, RateLimiterUnion } from 'rate-limiter-flexible';

/** It rejects if it refuses, and with an error if something failed. */
function refusalOf(reason) {
  if (reason instanceof Error) throw reason;
  return undefined;
}

const passed = (answer) => answer !== undefined;

async function overRedis(env) {
  const client = await env.connect();
  const { most, windowSeconds: duration, rules, cost, refuse } = env;
  // Its own memory of who is refused, as Headgate has one.
  const blocking = refuse ? { inMemoryBlockOnConsumed: most } : {};
  const limiters = Array.from(
    { length: rules },
    (_, i) => new RateLimiterRedis({ storeClient: client, points: most, duration, keyPrefix: `rlf${i}`, ...blocking }),
  );
  const limiter = rules > 1 ? new RateLimiterUnion(...limiters) : limiters[0];
  const ask = refuse ? (key) => limiter.consume(key, cost).catch(refusalOf) : (key) => limiter.consume(key, cost);
  return { ask, passed, local: refuse, close: () => client.disconnect() };
}

async function inMemory({ most, windowSeconds: duration }) {
  const limiter = new RateLimiterMemory({ points: most, duration });
  return { ask: (key) => limiter.consume(key), passed, local: true, close: () => undefined };
}

export const flexibleSystems = {
  flexible: { title: 'rate-limiter-flexible', package: 'rate-limiter-flexible', start: overRedis },
  'flexible-memory': { title: 'rate-limiter-flexible', package: 'rate-limiter-flexible', start: inMemory, sends: [] },
};
