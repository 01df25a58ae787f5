import { createHitLimit, memoryStore } from '@joint-ops/hitlimit/node';
import { redisStore } from '@joint-ops/hitlimit/stores/redis';

/** By `check`, its call without HTTP, without making header fields, which the others measured here do not make either. */
function asking(store, { most, windowSeconds }) {
  const headers = { standard: false, legacy: false, retryAfter: false };
  const onStoreError = (error) => {
    throw error;
  };
  const limiter = createHitLimit({ store, limit: most, window: windowSeconds * 1000, headers, onStoreError });
  // One object for all requests: it reads the address, its default key, before it waits for anything.
  const request = { socket: { remoteAddress: '' } };
  return {
    ask(key) {
      request.socket.remoteAddress = key;
      return limiter.check(request);
    },
    passed: ({ allowed }) => allowed,
    close: () => store.shutdown(),
  };
}

/** It makes its own ioredis client, with that client's defaults as the others' have. */
const overRedis = async (env) => asking(redisStore({ url: `redis://${env.servers[0].host}:${env.servers[0].port}` }), env);

const inMemory = async (env) => ({ ...asking(memoryStore(), env), local: true });

export const hitlimitSystems = {
  hitlimit: { title: '@joint-ops/hitlimit', package: '@joint-ops/hitlimit', start: overRedis },
  'hitlimit-memory': { title: '@joint-ops/hitlimit', package: '@joint-ops/hitlimit', start: inMemory, sends: [] },
};
