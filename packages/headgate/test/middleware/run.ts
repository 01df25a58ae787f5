import { Redis } from 'ioredis';
import { createLimiter, memoryStore, type Limiter, type RuleOptions, type Store } from 'headgate';
import { redisStore } from 'headgate/redis';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { freePort, startRedis, type RedisServer } from '../../../../test/support/redis.js';
import { behaviours } from './behaviours/index.js';
import type { Bench, Host, Site } from './site.js';

/** Runs every behaviour through a framework, in memory and over Redis. */
export function runBehaviours(host: Host): void {
  describe.each(['memory', 'Redis'] as const)(`${host.name} over %s`, (place) => {
    const open: (() => Promise<unknown>)[] = [];
    let server: RedisServer | undefined;
    let client: Redis | undefined;
    beforeAll(async () => {
      if (place === 'memory') return;
      server = await startRedis();
      client = new Redis(server.port, server.host);
    });
    afterEach(async () => {
      for (const close of open.splice(0).reverse()) await close();
      await client?.flushdb();
    });
    afterAll(async () => {
      client?.disconnect();
      await server?.kill();
    });

    function limiterOver(store: Store, rules: Record<string, RuleOptions>, deadline: '20ms' | '5s'): Limiter {
      // Without notes: what was refused a moment ago is asked again, as holders come and go.
      const limiter = createLimiter({ store, rules, deadline, notes: { max: 0 }, fleetSize: 1, onEvent: () => undefined });
      open.push(() => limiter.close());
      return limiter;
    }

    const bench: Bench = {
      host,
      limiterOf: (rules) => limiterOver(client === undefined ? memoryStore() : redisStore({ client }), rules, '5s'),
      limiterWithoutStore(rules) {
        const nobody = new Redis({ host: '127.0.0.1', port: nobodysPort, lazyConnect: true, retryStrategy: () => 1000 });
        nobody.on('error', () => undefined);
        open.push(async () => nobody.disconnect());
        return limiterOver(redisStore({ client: nobody }), rules, '20ms');
      },
      async serve(site: Site) {
        const { port, close } = await host.start(site);
        open.push(close);
        return port;
      },
    };
    let nobodysPort = 0;
    beforeAll(async () => {
      nobodysPort = await freePort();
    });

    it.each(behaviours)('$name', ({ run }) => run(bench));
  });
}
