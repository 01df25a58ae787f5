import { z } from 'zod';
import type { AskReady } from '../../usecases/ready.js';
import type { Endpoint } from './endpoint.js';
import { plainProblem, readBody, sendProblem } from './errors.js';

export interface Operable {
  readonly ready: AskReady;
  /** Undefined: they are elsewhere. */
  readonly metrics: (() => Promise<{ readonly contentType: string; readonly text: string }>) | undefined;
}

const rules = z
  .object({ version: z.int().optional(), from: z.enum(['file', 'database', 'disk']), ageMs: z.number(), reachable: z.boolean() })
  .optional()
  .describe(
    'The rules in force: their version in the database, where they were read, how long ago they were compared, and whether that is possible now.',
  );

const query = z.object({
  store: z
    .enum(['required', 'optional'])
    .default('required')
    .describe(
      "`optional`: ready also while the counters cannot be reached, as each rule's `whenUnavailable` decides then; not while the server stops.",
    ),
});

const why = z.string().optional().describe('With `store=optional`: why it would not be ready without.');
const unavailable = z.array(z.string()).optional().describe('Of several Redis: those that do not answer, by name.');

/** Who asks while an answer is being made gets the same: making one takes milliseconds, and a pipeline could ask for a thousand at once. */
function shared<T>(make: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => (underWay ??= make().finally(() => (underWay = undefined)));
}

/** For orchestrators and Prometheus. */
export function operateEndpoints(operable: Operable): Endpoint[] {
  const ready = shared(operable.ready);
  const metrics = operable.metrics && shared(operable.metrics);
  const endpoints: Endpoint[] = [
    {
      methods: ['GET'],
      path: '/healthz',
      tag: 'Operation',
      summary: 'Whether the process answers',
      status: 200,
      answer: z.object({ status: z.literal('ok') }),
      problems: [],
      handle: () => ({ status: 'ok' }),
    },
    {
      methods: ['GET'],
      path: '/readyz',
      tag: 'Operation',
      summary: 'Whether requests should come here: the counters can be reached, and the server does not stop',
      query,
      status: 200,
      answer: z.object({ status: z.literal('ready'), why, unavailable, rules }),
      problems: [400, 503],
      async handle(request, reply) {
        const { store } = readBody(query, request.query);
        const { ready: isReady, stopping, why, ...more } = await ready();
        if (isReady) return reply.send({ status: 'ready', ...more });
        if (store === 'optional' && stopping !== true) return reply.send({ status: 'ready', why, ...more });
        const problem = { ...plainProblem(503, { title: 'Not ready', ...(why === undefined ? undefined : { detail: why }) }), ...more };
        return sendProblem(reply, problem);
      },
    },
  ];
  if (metrics !== undefined) {
    endpoints.push({
      methods: ['GET'],
      path: '/metrics',
      tag: 'Operation',
      summary: 'Metrics, as Prometheus reads them',
      status: 200,
      media: 'text/plain',
      problems: [],
      async handle(_request, reply) {
        const { contentType, text } = await metrics();
        return reply.header('content-type', contentType).send(text);
      },
    });
  }
  return endpoints;
}
