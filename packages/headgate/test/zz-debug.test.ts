import { it } from 'vitest';
import { startCluster } from '../../../test/support/cluster.js';
import { createLimiter, fixedWindow } from '../src/index.js';
import { redisStore } from '../src/stores/redis/index.js';
import { clusterClients } from './support/clients.js';

it.each(clusterClients)('%s', { timeout: 60000 }, async (name, make) => {
  const cluster = await startCluster({ masters: 3 });
  const users = await make(cluster.nodes[0]!.port);
  const limiter = createLimiter({ store: redisStore({ client: users.client }), deadline: 50, rules: { api: { limit: fixedWindow({ limit: 100000, window: '1h' }) } } });
  await limiter.ready();
  await Promise.all(['a', 'b', 'c'].map((k) => limiter.check('api', k)));
  for (const how of ['pause', 'kill'] as const) {
    if (how === 'pause') await cluster.nodes[1]!.command('CLIENT', 'PAUSE', 1500, 'ALL');
    else { await new Promise((r) => setTimeout(r, 2000)); await cluster.nodes[1]!.kill(); }
    const began = performance.now();
    const tally: Record<string, string> = { a: '', b: '', c: '' };
    while (performance.now() - began < 1200) {
      await Promise.all(['a', 'b', 'c'].map(async (k) => (tally[k] += (await limiter.check('api', k)).source[0])));
      await new Promise((r) => setTimeout(r, 20));
    }
    console.log(name, how, JSON.stringify(tally));
  }
  await limiter.close(); await users.close(); await cluster.stop();
});
