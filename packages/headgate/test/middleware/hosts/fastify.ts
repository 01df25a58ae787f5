import { Readable } from 'node:stream';
import Fastify, { type FastifyRequest } from 'fastify';
import { rateLimit } from 'headgate/fastify';
import { optionsFor, type Facts, type Host } from '../site.js';
import { running } from './express.js';

const factsOf = (request: FastifyRequest): Facts => ({
  method: request.method,
  header: (name) => request.headers[name] as string | undefined,
  body: request.body,
});

export const fastifyHost: Host = {
  name: 'Fastify 5',
  differs: {},
  async start({ limits, handler }) {
    const app = Fastify();
    for (const limit of limits) {
      const { ownAnswer } = limit;
      app.addHook(
        'preHandler',
        rateLimit<string, string, FastifyRequest>({
          ...optionsFor<FastifyRequest>(limit, factsOf),
          ...(ownAnswer !== undefined && { onRefused: (_refusal, { reply }) => reply.send(ownAnswer) }),
        }),
      );
    }
    app.all('/', async (request, reply) => {
      const { status, body = '' } = await handler(factsOf(request), request.rateLimit);
      return reply.code(status).send(typeof body === 'string' ? body : Readable.from(body));
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { port, close } = await running(app.server);
    return { port, close: () => close().then(() => app.close()) };
  },
};
