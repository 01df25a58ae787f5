import rateLimit from '@fastify/rate-limit';
import fastify from 'fastify';

/** By `createRateLimit`, its call without HTTP; a request is what that call reads of one. */
async function asking({ most, windowSeconds, keys }, redis) {
  const app = fastify();
  await app.register(rateLimit, {
    global: false,
    max: most,
    timeWindow: windowSeconds * 1000,
    keyGenerator: ({ key }) => key,
    cache: 2 * keys,
    ...(redis && { redis }),
  });
  await app.ready();
  const check = app.createRateLimit();
  const routeOptions = { config: {} };
  return {
    ask: (key) => check({ key, routeOptions }),
    passed: ({ isExceeded }) => !isExceeded,
    local: redis === undefined,
    async close() {
      await app.close();
      redis?.disconnect();
    },
  };
}

export const fastifySystems = {
  fastify: { title: '@fastify/rate-limit', package: '@fastify/rate-limit', start: async (env) => asking(env, await env.connect()) },
  'fastify-memory': { title: '@fastify/rate-limit', package: '@fastify/rate-limit', start: (env) => asking(env), sends: [] },
};
