// Where the examples count: in Redis if REDIS_URL names one, then all that run share their limits; else in memory.
import { memoryStore } from 'headgate';
import { redisStore } from 'headgate/redis';
import { Redis } from 'ioredis';

const { REDIS_URL } = process.env;
const store = REDIS_URL === undefined ? memoryStore() : redisStore({ client: new Redis(REDIS_URL) });

/** For `createLimiter`. A server of your own keeps the deadline of 10 ms; one that has just started, on a busy machine, needs longer. */
export const counting = { store, fleetSize: 1, deadline: '2s' };
export const port = Number(process.env.PORT ?? 3000);

/** Says where an example listens. */
export const tell = (server) => console.log(`http://127.0.0.1:${server.address().port}`);
