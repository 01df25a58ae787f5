import { z } from 'zod';
import type { Traffic } from '../../../observe/traffic.js';
import { nameParam, route, UnknownNameError, type Route } from './route.js';

const window = z.enum(['1m', '1h']).default('1m');

const reportAnswer = z.object({
  rule: z.string(),
  window,
  seconds: z.number(),
  checks: z.number(),
  refused: z.number(),
  unavailable: z.number(),
  distinctSeen: z.number(),
  distinctRefused: z.number(),
  shareRefused: z.number(),
  verdict: z.string(),
  reasons: z.array(z.string()),
  topRefused: z.array(z.looseObject({ refused: z.number(), atMost: z.number(), share: z.number() })),
});

/** What tells a wrong rule from an attack; of this server. */
export function trafficRoutes(traffic: Traffic): Route[] {
  return [
    route({
      method: 'GET',
      path: '/traffic',
      role: 'read',
      summary: 'Who is refused, of every rule that was checked in the last hour: a wrong rule, or an attack',
      query: z.object({ window }),
      answer: z.object({ reports: z.array(reportAnswer) }),
      run: async ({ query }) => ({ body: { reports: traffic.rules().flatMap((rule) => traffic.report(rule, query.window) ?? []) } }),
    }),
    route({
      method: 'GET',
      path: '/traffic/{name}',
      role: 'read',
      summary: 'Who is refused under one rule, with the keys refused most, masked',
      params: nameParam,
      query: z.object({ window }),
      answer: reportAnswer,
      async run({ params: { name }, query }) {
        const report = traffic.report(name, query.window);
        if (report === undefined) throw new UnknownNameError('nothing was checked in the last hour');
        return { body: report };
      },
    }),
    route({
      method: 'POST',
      path: '/traffic/mask',
      role: 'read',
      summary: 'What a key is called in reports, for who has it in hand',
      body: z.strictObject({ key: z.string().min(1).max(65_536) }),
      example: { key: 'alice' },
      answer: z.object({ mask: z.string() }),
      run: async ({ body: { key } }) => ({ body: { mask: traffic.maskOf(key) } }),
    }),
  ];
}
