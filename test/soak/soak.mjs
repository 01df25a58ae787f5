import { setTimeout as sleep } from 'node:timers/promises';
import { disturbances } from './disturbances.mjs';
import { leftovers } from './leftovers.mjs';
import { startLoad } from './load.mjs';
import { openServer } from './server.mjs';
import { watch } from './watch.mjs';

/** From one sample to the next, with a disturbance between them; less where the run is short, so that there are enough to compare. */
const longestRoundMs = 5000;
const fewestRounds = 15;
/** A short run has two outages at least. */
const longestBetweenOutagesMs = 60_000;

/** What takes long to count is not counted in each sample. */
const longestBetweenCensusesMs = 30_000;

/** The full pace is reached within half of the warm-up. */
const rampPart = 0.1;

/** How long a decision may take: so long that a machine that is busy for a moment is not mistaken for an outage. */
const deadline = 200;

/**
 * Puts processes under load over a Redis that is disturbed now and then, and has them rest for each sample. `tell` gets each sample as it
 * comes.
 */
export async function soak({ minutes, ...options }, { redis, tell }) {
  const totalMs = minutes * 60_000;
  const halfMs = Math.min(longestRoundMs, totalMs / fewestRounds) / 2;
  const server = await openServer(redis);
  const connect = { topology: 'single', port: redis.port };
  const load = await startLoad({ ...options, connect, deadline, rampMs: totalMs * rampPart });
  const watching = watch(server);
  try {
    const disturb = disturbances(server, { outageEveryMs: Math.min(longestBetweenOutagesMs, totalMs / 3) });
    const began = performance.now();
    const samples = [];
    let nextCensus = began;
    while (performance.now() - began < totalMs) {
      load.go();
      await sleep(halfMs);
      const disturbance = await disturb();
      await sleep(halfMs);
      await load.calm();
      // Under load, as counters go while nobody asks.
      const data = await server.data();
      const withCensus = performance.now() >= nextCensus;
      if (withCensus) nextCensus += Math.min(longestBetweenCensusesMs, totalMs / fewestRounds);
      const processes = await load.rest({ withCensus });
      const sample = {
        atMs: performance.now() - began,
        processes,
        redis: { ...data, ...(await server.connections()) },
        disturbance,
        slow: watching.take(),
      };
      samples.push(sample);
      tell(sample);
    }
    const ended = await load.end();
    await watching.stop();
    return { samples, totalMs, ended, left: await leftovers(server) };
  } finally {
    load.kill();
    server.close();
    // What it had just asked fails with the connection.
    await watching.stop().catch(() => undefined);
  }
}
