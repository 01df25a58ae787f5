import { startRedis } from '../../support/redis.js';
import type { Fleet } from '../fleet.js';
import { watchStore } from '../watch.js';
import { pause, type Fault } from './fault.js';

const stallMs = 200;

/** Each process stalls in turn, two times: one core is left for Redis, which is well. */
function stalls(name: string, title: string, sameTurn: boolean): Fault {
  return {
    name,
    title,
    start: async () => {
      const server = await startRedis();
      const strike = async (fleet: Fleet) => {
        const watched = await watchStore(server.port);
        for (let turn = 0; turn < 2 * fleet.size; turn += 1) {
          fleet.stall(turn % fleet.size, stallMs, sameTurn);
          await pause(stallMs * 1.5);
        }
        const undone = Date.now();
        return { undone, well: { stalledMs: stallMs, but: await watched.stop() } };
      };
      return { connect: { topology: 'single', port: server.port }, strike, stop: server.kill };
    },
  };
}

export const processFaults: readonly Fault[] = [
  stalls('stall', 'the app stalls for 200 ms, its checks sent', false),
  stalls('stall-unsent', 'the app stalls for 200 ms in the turn of its checks', true),
];
