import { z } from 'zod';
import { keyStates, resetKey } from '../../../usecases/key-state.js';
import type { Service } from '../../../usecases/service.js';
import { finite, reasonField } from '../bodies.js';
import { keyParam, route, type RecordAct, type Route } from './route.js';

const ofRule = z.object({ rule: z.string().min(1).max(128) });

const stateAnswer = z.object({
  rule: z.string(),
  limit: z.number().nullable().describe('null: unlimited'),
  remaining: z.number().nullable(),
  retryAfterMs: z.number().nullable().describe('0 if a check of one unit would pass; null if never'),
  resetAfterMs: z.number(),
  wouldAllow: z.boolean(),
  reason: reasonField.describe('Why it is refused'),
  shadow: z.boolean(),
  degraded: z.boolean(),
});

/** What is known of a key, and what an operator does about it. */
export function keysRoutes(service: Service, record: RecordAct): Route[] {
  const limiter = () => service.current().limiter;
  return [
    route({
      method: 'GET',
      path: '/keys/{key}',
      role: 'read',
      summary: 'A key under every rule (or one), and why it is refused; takes nothing',
      params: keyParam,
      query: z.object({
        rule: z.string().max(128).optional(),
        all: z.stringbool().default(false).describe('also rules of which nothing is used'),
      }),
      answer: z.object({ rules: z.number().describe('rules looked at'), states: z.array(stateAnswer) }),
      async run({ params: { key }, query }) {
        const { rules, states } = await keyStates(service, key, query);
        const shown = states.map(({ limit, remaining, retryAfterMs, ...rest }) => ({
          limit: finite(limit),
          remaining: finite(remaining),
          retryAfterMs: finite(retryAfterMs),
          ...rest,
        }));
        return { body: { rules, states: shown } };
      },
    }),
    route({
      method: 'POST',
      path: '/keys/{key}/reset',
      role: 'operate',
      summary: 'Forgets the counter of a key under a rule; a ban stays',
      params: keyParam,
      body: ofRule,
      example: { rule: 'search' },
      async run({ params: { key }, body: { rule }, who }) {
        await resetKey(service, { rule, key });
        await record({ by: who, what: 'key.reset', detail: { rule, key } });
        return {};
      },
    }),
    route({
      method: 'POST',
      path: '/keys/{key}/ban',
      role: 'operate',
      summary: 'Refuses a key under a rule for a while, whatever is left of its budget',
      params: keyParam,
      body: ofRule.extend({ forMs: z.int().min(1).max(315_576_000_000).describe('milliseconds; at most ten years') }),
      example: { rule: 'search', forMs: 600_000 },
      async run({ params: { key }, body: { rule, forMs }, who }) {
        await limiter().ban(rule, key, forMs);
        await record({ by: who, what: 'key.ban', detail: { rule, key, forMs } });
        return {};
      },
    }),
    route({
      method: 'POST',
      path: '/keys/{key}/unban',
      role: 'operate',
      summary: 'Lifts a ban',
      params: keyParam,
      body: ofRule,
      example: { rule: 'search' },
      async run({ params: { key }, body: { rule }, who }) {
        await limiter().unban(rule, key);
        await record({ by: who, what: 'key.unban', detail: { rule, key } });
        return {};
      },
    }),
  ];
}
