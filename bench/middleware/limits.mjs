// The limits that are put before a route. None is ever reached: what is measured is what passes. All count by the client's address, and
// write the fields that they write by default.
import { createLimiter, fixedWindow, memoryStore } from 'headgate';
import { redisStore } from 'headgate/redis';

const most = 1_000_000_000;
const windowMs = 3_600_000;

function limiterOf(store, mode) {
  const rule = { limit: fixedWindow({ limit: most, window: windowMs }), mode };
  return { limiter: createLimiter({ store, deadline: '2s', fleetSize: 1, rules: { api: rule } }), rule: 'api' };
}

const inMemory = () => limiterOf(memoryStore(), 'exact');
const leased = (connect) => limiterOf(redisStore({ client: connect() }), 'lease');

async function headgateExpress(app, options) {
  const { rateLimit } = await import('headgate/express');
  app.use(rateLimit(options));
}

async function headgateFastify(app, options) {
  const { rateLimit } = await import('headgate/fastify');
  app.addHook('onRequest', rateLimit(options));
}

async function expressRateLimit(app, store) {
  const { rateLimit } = await import('express-rate-limit');
  app.use(rateLimit({ windowMs, limit: most, ...(store && { store }) }));
}

async function overRateLimitRedis(app, connect) {
  const { RedisStore } = await import('rate-limit-redis');
  const client = connect();
  await expressRateLimit(app, new RedisStore({ sendCommand: (...args) => client.call(...args) }));
}

async function fastifyRateLimit(app, redis) {
  const { default: rateLimit } = await import('@fastify/rate-limit');
  await app.register(rateLimit, { max: most, timeWindow: windowMs, ...(redis && { redis }) });
}

/** By framework and name: puts a limit before an app's routes. */
export const limitsOf = {
  express: {
    bare: async () => undefined,
    'headgate-memory': (app) => headgateExpress(app, inMemory()),
    'headgate-lease': (app, connect) => headgateExpress(app, leased(connect)),
    'theirs-memory': (app) => expressRateLimit(app),
    'theirs-redis': overRateLimitRedis,
  },
  fastify: {
    bare: async () => undefined,
    'headgate-memory': (app) => headgateFastify(app, inMemory()),
    'headgate-lease': (app, connect) => headgateFastify(app, leased(connect)),
    'theirs-memory': (app) => fastifyRateLimit(app),
    'theirs-redis': (app, connect) => fastifyRateLimit(app, connect()),
  },
};

export const names = ['bare', 'headgate-memory', 'headgate-lease', 'theirs-memory', 'theirs-redis'];
