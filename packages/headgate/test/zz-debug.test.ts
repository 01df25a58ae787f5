import { it } from 'vitest';
import { startCluster } from '../../../test/support/cluster.js';
import { resolveAdapter } from '../src/stores/redis/adapters/resolve.js';
import { createLimiter, fixedWindow } from '../src/index.js';
import { redisStore } from '../src/stores/redis/index.js';
import { clusterClients } from './support/clients.js';

it.each(clusterClients)('%s', { timeout: 60000 }, async (name, make) => {
  const cluster = await startCluster({ masters: 3 });
  const users = await make(cluster.nodes[0]!.port);
  const adapter = resolveAdapter(users.client);
  const limiter = createLimiter({ store: redisStore({ client: users.client }), deadline: 100, rules: { api: { limit: fixedWindow({ limit: 1000, window: '1h' }) } } });
  await limiter.ready();
  await new Promise((r) => setTimeout(r, 300));
  await cluster.nodes[1]!.kill();
  const began = performance.now();
  const out: string[] = [];
  for (let i = 0; i < 25; i += 1) {
    const one = async (k: string) => { const t = performance.now(); try { await adapter.send('EVAL', ['return 1', '1', k], k); return `${k}:${Math.round(performance.now() - t)}`; } catch (e) { return `${k}!${Math.round(performance.now() - t)} ${String(e).slice(0, 60)}`; } };
    const race = async (k: string) => Promise.race([one(k), new Promise((r) => setTimeout(r, 100, `${k}:late`))]);
    const rest = Promise.all(['a', 'b', 'c'].map(race));
    const lim = Promise.all(['a', 'b', 'c'].map(async (k) => (await limiter.check('api', k)).source));
    out.push(`${Math.round(performance.now() - began)} ${adapter.state()} ${(await rest).join(' ')} | ${(await lim).join(' ')}`);
    await new Promise((r) => setTimeout(r, 50));
  }
  console.log(name + '\n' + out.join('\n'));
  await limiter.close(); await adapter.close(); await users.close(); await cluster.stop();
});
