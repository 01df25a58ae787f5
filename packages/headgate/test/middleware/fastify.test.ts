import { fastifyHost } from './hosts/fastify.js';
import { runBehaviours } from './run.js';

runBehaviours(fastifyHost);
