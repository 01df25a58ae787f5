import { it } from 'vitest';
import * as redis5 from 'redis5';
import { startCluster } from '../../../test/support/cluster.js';
import { safeClusterOptions } from '../src/stores/redis/adapters/node-redis-client.js';
it('x', async () => {
  const cl = await startCluster({ masters: 1 });
  const c = redis5.createCluster({ rootNodes: [{ url: cl.urls[0]! }], RESP: 3, commandOptions: { typeMapping: { 58: String } } } as never) as any;
  await c.connect(); const d = c.duplicate(safeClusterOptions(c._options));
  d.on('error', (e: Error) => console.log('ERR', e));
  d.on('node-error', (e: Error) => console.log('NERR', e));
  await Promise.race([d.connect().catch((e: Error) => console.log('REJ', e)), new Promise((r) => setTimeout(r, 2000))]);
  console.log(d.isOpen, d.masters.length, d.masters[0]?.client?.isReady);
  d.destroy();
  await cl.stop();
}, 20000);
