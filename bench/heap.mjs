// What a note and a lease take of this process's heap, their keys' text included. Needs --expose-gc.
import { Redis } from 'ioredis';
import { createLimiter, systemClock, tokenBucket } from 'headgate';
import { redisStore } from 'headgate/redis';
import { notes } from '../packages/headgate/dist/layers/notes.js';

const limit = tokenBucket({ capacity: 1_000_000, refill: '10000/s' });

/** The heap in use when nothing is left that could be collected. */
function heap() {
  for (let i = 0; i < 3; i += 1) globalThis.gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Notes by the layer alone, over a store that only refuses. */
export async function bytesPerNote(count) {
  const refusal = { allowed: false, taken: 0, remaining: 0, retryAfterUs: 1e9, resetAfterUs: 1e9, reason: 'limited' };
  const answer = { now: 0, allowed: false, outcomes: [refusal], source: 'store', degraded: false };
  const system = systemClock();
  const began = system.nowUs();
  const layer = notes({ store: { decide: () => Promise.resolve(answer) }, max: count, clock: { ...system, nowUs: () => began } });
  const add = (key) => layer.decide({ checks: [{ rule: 'closed', key, limit, cost: 1 }] });
  await add('first');
  const before = heap();
  for (let i = 1; i < count; i += 1) await add(`2001:db8:0:0:0:0:0:${i}`);
  const bytes = (heap() - before) / (count - 1);
  if (layer.notes().size !== count) throw new Error(`${layer.notes().size} notes`);
  return bytes;
}

/** Leases by a limiter as a whole, so that what its other layers keep of a leased key is counted too. */
export async function bytesPerLease({ count, server }) {
  const client = new Redis(server);
  const system = systemClock();
  const began = system.nowUs();
  // A lease lasts a second: time goes so slowly that all are there when they are counted.
  const clock = { ...system, nowUs: () => began + Math.floor((system.nowUs() - began) / 1000) };
  const limiter = createLimiter({
    store: redisStore({ client }),
    deadline: '5s',
    fleetSize: 1,
    leases: { max: count },
    clock,
    rules: { api: { limit, mode: 'lease' } },
  });
  await limiter.ready();
  const ask = (from, to) =>
    Promise.all(Array.from({ length: to - from }, (_, i) => limiter.check('api', `2001:db8:0:0:0:0:0:${from + i}`)));
  // What is made once, whatever the number of keys, is there already.
  await ask(0, 1000);
  const [before, had] = [heap(), limiter.stats().localKeys];
  for (let i = 1000; i < count; i += 500) await ask(i, Math.min(count, i + 500));
  const bytes = (heap() - before) / (limiter.stats().localKeys - had);
  await limiter.close();
  client.disconnect();
  return bytes;
}
