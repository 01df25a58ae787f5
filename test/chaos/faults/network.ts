import { startProxy, type Proxy } from '../../support/proxy.js';
import { startRedis } from '../../support/redis.js';
import { pause, servesAgain, whileMs, type Fault, type Strike } from './fault.js';

/** Something that happens between the processes and a single Redis that is well. */
function onNetwork(name: string, title: string, strike: (proxy: Proxy) => Promise<Strike>): Fault {
  return {
    name,
    title,
    start: async () => {
      const server = await startRedis();
      const proxy = await startProxy(server.port);
      return {
        connect: { topology: 'single', port: proxy.port },
        strike: () => strike(proxy),
        stop: async () => {
          await proxy.close();
          await server.kill();
        },
      };
    },
  };
}

export const networkFaults: readonly Fault[] = [
  onNetwork('cut', 'connections cut, and refused for 1 s', async (proxy) => {
    proxy.refuse();
    await pause(1000);
    const undone = Date.now();
    proxy.accept();
    return { undone, serves: await servesAgain(() => proxy.port) };
  }),
  onNetwork('delay', 'replies 100 ms late for 2 s', async (proxy) => {
    proxy.delayReplies(100);
    await pause(whileMs);
    const undone = Date.now();
    proxy.delayReplies(0);
    return { undone, serves: await servesAgain(() => proxy.port) };
  }),
];
