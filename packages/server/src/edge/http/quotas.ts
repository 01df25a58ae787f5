import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { quotasOf } from '../../usecases/quotas.js';
import type { Service } from '../../usecases/service.js';
import { readBody } from './errors.js';

const params = z.object({ key: z.string().min(1).max(4096) });
const query = z.object({ plan: z.string().max(128).optional() });

/** How much of its quotas a customer has used. */
export function quotasRoutes(app: FastifyInstance, service: Service): void {
  app.get('/v1/quotas/:key', async (request, reply) => {
    const { key } = readBody(params, request.params);
    const { plan } = readBody(query, request.query);
    reply.header('cache-control', 'no-store');
    return { key, quotas: await quotasOf(service, key, plan) };
  });
}
