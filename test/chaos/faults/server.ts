import { startRedis, type RedisServer } from '../../support/redis.js';
import { pause, servesAgain, whileMs, type Fault, type Strike } from './fault.js';

/** Something that is done to a single Redis, directly. */
function onServer(name: string, title: string, strike: (server: RedisServer) => Promise<Strike>): Fault {
  return {
    name,
    title,
    start: async () => {
      const server = await startRedis();
      return { connect: { topology: 'single', port: server.port }, strike: () => strike(server), stop: server.kill };
    },
  };
}

export const serverFaults: readonly Fault[] = [
  onServer('kill', 'Redis killed (kill -9), and started again empty', async (server) => {
    await server.kill();
    await pause(1000);
    const undone = Date.now();
    await server.restart();
    return { undone, serves: await servesAgain(() => server.port), forgot: undone };
  }),
  onServer('stop', 'Redis stopped for 2 s (SIGSTOP, SIGCONT)', async (server) => {
    server.pause();
    await pause(whileMs);
    const undone = Date.now();
    server.resume();
    return { undone, serves: await servesAgain(() => server.port) };
  }),
  onServer('pause', 'CLIENT PAUSE 2000', async (server) => {
    const began = Date.now();
    await server.command('CLIENT', 'PAUSE', whileMs, 'ALL');
    const undone = began + whileMs - 20;
    await pause(undone - Date.now());
    return { undone, serves: await servesAgain(() => server.port) };
  }),
  onServer('flush', 'SCRIPT FLUSH every 20 ms, for 2 s', async (server) => {
    const until = Date.now() + whileMs;
    while (Date.now() < until) {
      await server.command('SCRIPT', 'FLUSH');
      await pause(20);
    }
    return { undone: until };
  }),
  onServer('memory', 'maxmemory reached (noeviction) for 2 s', async (server) => {
    await server.command('CONFIG', 'SET', 'maxmemory', '100kb');
    await pause(whileMs);
    const undone = Date.now();
    await server.command('CONFIG', 'SET', 'maxmemory', 0);
    return { undone, serves: await servesAgain(() => server.port) };
  }),
];
