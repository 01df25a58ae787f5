import { z } from 'zod';
import { quotasOf } from '../../usecases/quotas.js';
import type { Service } from '../../usecases/service.js';
import { keyParam, planField, quotaAnswer } from './bodies.js';
import type { Endpoint } from './endpoint.js';
import { readBody } from './errors.js';

const query = z.object({ plan: planField });

/** How much of its quotas a customer has used. */
export const quotasEndpoints = (service: Service): Endpoint[] => [
  {
    methods: ['GET'],
    path: '/v1/quotas/{key}',
    tag: 'Quotas',
    summary: 'How a customer stands under every rule that is a quota for him; takes nothing',
    params: keyParam,
    query,
    status: 200,
    answer: z.object({ key: z.string(), quotas: z.array(quotaAnswer) }),
    problems: [400, 503],
    async handle(request, reply) {
      const { key } = readBody(keyParam, request.params);
      const { plan } = readBody(query, request.query);
      void reply.header('cache-control', 'no-store');
      return { key, quotas: await quotasOf(service, key, plan) };
    },
  },
];
