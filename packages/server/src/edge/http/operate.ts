import type { FastifyInstance } from 'fastify';
import { sendProblem } from './errors.js';

export interface Operable {
  /** Resolves once the service can decide by its store; rejects with why not. */
  readonly ready: () => Promise<void>;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
}

/** For orchestrators and Prometheus. */
export function operateRoutes(app: FastifyInstance, { ready, metrics }: Operable): void {
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    try {
      await ready();
    } catch (error) {
      return sendProblem(reply, { type: 'about:blank', title: 'Not ready', status: 503, detail: (error as Error).message });
    }
    return reply.send({ status: 'ready' });
  });
  app.get('/metrics', async (_request, reply) => {
    const { contentType, text } = await metrics();
    return reply.header('content-type', contentType).send(text);
  });
}
