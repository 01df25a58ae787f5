// A process of compare.mjs: one build of Headgate over a client of its own.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { drive, fill, keyRing } from './measure.mjs';
import { obey } from './obey.mjs';

let keys;
let system;
let close;

const verbs = {
  async open({ folder, server, rules, keys: count }) {
    const dist = join(resolve(folder), 'packages/headgate/dist');
    // Builds of before there were bundles have none.
    const [index, redis] = existsSync(join(dist, 'bundle'))
      ? ['bundle/index.js', 'bundle/redis.js']
      : ['index.js', 'stores/redis/index.js'];
    const { createLimiter, memoryStore, tokenBucket } = await import(join(dist, index));
    const { redisStore } = await import(join(dist, redis));
    const client = server && new Redis(server);
    const limit = tokenBucket({ capacity: 4e6, refill: '1/m' });
    const names = Array.from({ length: rules }, (_, i) => `rule${i}`);
    const limiter = createLimiter({
      store: client ? redisStore({ client }) : memoryStore({ maxKeys: 2 * count }),
      deadline: '2s',
      fleetSize: 1,
      rules: Object.fromEntries(names.map((name) => [name, { limit }])),
    });
    await limiter.ready();
    const ask = rules === 1 ? (key) => limiter.check('rule0', key) : (key) => limiter.checkAll(names.map((rule) => ({ rule, key })));
    system = { ask, passed: ({ allowed }) => allowed, local: !client };
    close = async () => {
      await limiter.close();
      client?.disconnect();
      return limiter.stats().degraded;
    };
    keys = keyRing(count);
    await fill({ ask, keys });
  },
  drive: (what) => drive({ system, keys, expected: true, ...what }),
  close: () => close(),
};

obey(verbs);
