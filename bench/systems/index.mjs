// The systems that are measured. Each asks the way a program that uses the package would: `ask(key)` is the answer or a
// promise of it, `passed(answer)` whether the request may go on. `local`: it answers in the process, without waiting for a socket.
import { bareSystems } from './bare.mjs';
import { expressSystems } from './express.mjs';
import { fastifySystems } from './fastify.mjs';
import { flexibleSystems } from './flexible.mjs';
import { headgateSystems } from './headgate.mjs';
import { hitlimitSystems } from './hitlimit.mjs';
import { upstashSystems } from './upstash.mjs';

/** By the name that `--only` takes. `sends`: the commands that it sends to Redis, `evalsha` if absent. */
export const systems = {
  ...headgateSystems,
  ...flexibleSystems,
  ...expressSystems,
  ...fastifySystems,
  ...hitlimitSystems,
  ...upstashSystems,
  ...bareSystems,
};

/** Those that count fixed windows in Redis, and those that count in memory: the best of them is what Headgate is compared with. */
export const peers = ['flexible', 'rlr', 'fastify', 'hitlimit', 'upstash'];
export const memoryPeers = ['flexible-memory', 'express-memory', 'fastify-memory', 'hitlimit-memory'];

export const titleOf = (name) => systems[name].title;
