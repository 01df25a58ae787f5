import { Redis } from 'ioredis';
import { host } from '../support/redis.js';

/** A stretch of time in which the machine, or the store, was too busy: milliseconds of the wall clock. */
export interface Busy {
  readonly from: number;
  readonly until: number;
}

/** Asked without a pause, a store that is well on a machine that is not full answers within less than that; a timer of 1 ms fires. */
const promptMs = 4;

const soon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

/** Does something over and over in the driver's process, which does little else, and tells when it took long. */
function repeat(something: () => Promise<unknown>): { stop(): Promise<readonly Busy[]> } {
  const busy: Busy[] = [];
  let over = false;
  const watching = (async () => {
    let last = Date.now();
    while (!over) {
      await something();
      const now = Date.now();
      if (now - last > promptMs) busy.push({ from: last, until: now });
      last = now;
    }
  })();
  return {
    stop: async () => {
      over = true;
      await watching;
      return busy;
    },
  };
}

/** Keeps asking the store, to tell what it could not help from what the library did. */
export async function watchStore(port: number): Promise<{ stop(): Promise<readonly Busy[]> }> {
  const client = new Redis({ host, port });
  await client.ping();
  const { stop } = repeat(() => client.ping().then(soon));
  return { stop: () => stop().finally(() => client.disconnect()) };
}

/** How much of the time this process, which has next to nothing to do, had to wait for a core: 0 to 1. */
export function watchMachine(): { stop(): Promise<number> } {
  const began = Date.now();
  const { stop } = repeat(soon);
  return {
    stop: async () => {
      const waited = (await stop()).reduce((sum, { from, until }) => sum + until - from, 0);
      return waited / (Date.now() - began);
    },
  };
}
