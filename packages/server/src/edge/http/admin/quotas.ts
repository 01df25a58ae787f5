import { z } from 'zod';
import { setQuota } from '../../../usecases/quotas.js';
import type { Service } from '../../../usecases/service.js';
import { keyParam, route, type RecordAct, type Route } from './route.js';

const quotaAnswer = z.object({
  rule: z.string(),
  used: z.number(),
  limit: z.number(),
  remaining: z.number(),
  startsAt: z.iso.datetime(),
  resetsAt: z.iso.datetime(),
  degraded: z.boolean(),
});

/** What the billing system knows better: `PUT /v1/quotas/{key}`, and the same under the admin API's path. */
export function quotasAdminRoutes(service: Service, record: RecordAct): Route[] {
  return [
    route({
      method: 'PUT',
      path: '/quotas/{key}',
      alias: '/v1/quotas/{key}',
      role: 'operate',
      summary: 'Sets how much of a quota a customer has used in the current period',
      params: keyParam,
      body: z.strictObject({
        rule: z.string().min(1).max(128),
        used: z.int().min(0).max(9_000_000_000),
        plan: z.string().max(128).optional().describe('if it is not the one that is stored'),
      }),
      answer: quotaAnswer,
      async run({ params: { key }, body: { rule, used, plan }, who }) {
        const body = await setQuota(service, { rule, key, used, plan });
        await record({ by: who, what: 'quota.set', detail: { rule, key, used } });
        return { body };
      },
    }),
  ];
}
