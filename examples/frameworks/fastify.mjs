// Fastify 5: as onRequest, so that a refused request's body is not read.
import Fastify from 'fastify';
import { createLimiter, tokenBucket } from 'headgate';
import { rateLimit } from 'headgate/fastify';
import { counting, port, tell } from '../store.mjs';

const limiter = createLimiter({ ...counting, rules: { fastify: { limit: tokenBucket({ capacity: 3, refill: '6/m' }) } } });

const app = Fastify();
app.addHook('onRequest', rateLimit({ limiter, rule: 'fastify' }));
app.get('/', (request, reply) => reply.send({ left: request.rateLimit.decision.remaining }));

await app.listen({ port, host: '127.0.0.1' });
tell(app.server);
