import type { FastifyInstance } from 'fastify';

/** While the server stops, every answer tells its client that the connection ends with it: the next one is opened elsewhere. */
export function sayLastAnswers(app: FastifyInstance, isStopping: () => boolean): void {
  app.addHook('onSend', (_request, reply, ...[payload, done]) => {
    if (isStopping()) reply.header('connection', 'close');
    done(null, payload);
  });
}
