// A Redis for each system, so that all work on as many keys as are asked for: among those of the others every lookup would miss the processor's caches.
import { Redis } from 'ioredis';
import { startRedis } from '../tools/redis.mjs';
import { systems } from './systems/index.mjs';

/** How many a system needs; none if it sends nothing. */
const countOf = ({ servers = 1, sends }) => (sends?.length === 0 ? 0 : servers);

/** Starts them when a system is asked for first; they run until all is over, as its counters may be wanted again. */
export function ownServers() {
  const bySystem = {};
  const start = async () => {
    const server = await startRedis();
    const { host, port } = server;
    return { server, address: { host, port }, control: new Redis({ host, port }) };
  };
  const of = (name) => (bySystem[name] ??= Promise.all(Array.from({ length: countOf(systems[name]) }, start)));
  return {
    serversOf: async (name) => (await of(name)).map(({ address }) => address),
    controlsOf: async (name) => (await of(name)).map(({ control }) => control),
    async stop() {
      for (const { server, control } of (await Promise.all(Object.values(bySystem))).flat()) {
        control.disconnect();
        await server.stop();
      }
    },
  };
}
