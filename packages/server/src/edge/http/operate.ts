import type { FastifyInstance } from 'fastify';
import type { AskReady } from '../../usecases/ready.js';
import { plainProblem, sendProblem } from './errors.js';

export interface Operable {
  readonly ready: AskReady;
  /** Undefined: they are elsewhere. */
  readonly metrics: (() => Promise<{ readonly contentType: string; readonly text: string }>) | undefined;
}

/** For orchestrators and Prometheus. */
export function operateRoutes(app: FastifyInstance, { ready, metrics }: Operable): void {
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const { ready: isReady, why, unavailable } = await ready();
    const shards = unavailable === undefined ? undefined : { unavailable };
    if (isReady) return reply.send({ status: 'ready', ...shards });
    const problem = { ...plainProblem(503, { title: 'Not ready', ...(why === undefined ? undefined : { detail: why }) }), ...shards };
    return sendProblem(reply, problem);
  });
  if (metrics === undefined) return;
  app.get('/metrics', async (_request, reply) => {
    const { contentType, text } = await metrics();
    return reply.header('content-type', contentType).send(text);
  });
}
