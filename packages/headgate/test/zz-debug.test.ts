import { it } from 'vitest';
import { createLimiter, fixedWindow } from '../src/index.js';
import { redisStore } from '../src/stores/redis/index.js';
import { earlyClients } from './support/clients.js';
import { freePort, host, startRedis } from '../../../test/support/redis.js';

it.each(earlyClients.filter(([n]) => /cluster/i.test(n)))('%s', { timeout: 60000 }, async (name, make) => {
  const port = await freePort(10_000);
  const server = await startRedis({ port, args: ['--cluster-enabled', 'yes', '--cluster-announce-ip', host] });
  const users = await make(port);
  const limiter = createLimiter({ store: redisStore({ client: users.client }), deadline: 50, rules: { api: { limit: fixedWindow({ limit: 100000, window: '1h' }) } } });
  await new Promise((r) => setTimeout(r, 1000));
  console.log(name, 'without slots', (await limiter.check('api', 'k')).source);
  await server.command('CLUSTER', 'ADDSLOTS', ...Array.from({ length: 16_384 }, (_, slot) => slot));
  const began = performance.now();
  let s = ''; 
  while (performance.now() - began < 8000 && s !== 'store') { s = (await limiter.check('api', 'k')).source; await new Promise((r) => setTimeout(r, 20)); }
  console.log(name, s, Math.round(performance.now() - began));
  await limiter.close(); await users.close(); await server.kill();
});
