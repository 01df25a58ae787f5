import { createHash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { bearerIn } from '../../bearer.js';
import type { RunOperations } from '../../usecases/store-operations.js';
import type { Endpoint } from './endpoint.js';
import { plainProblem, readBody, sendProblem } from './errors.js';
import { operationsOf, storeBody } from './store-bodies.js';

export interface ServedStore {
  readonly token: string;
  readonly run: RunOperations;
}

/** 64 checks whose keys are as long as keys may be. Who has no token is not read. */
const largestBody = 16 * 1024 * 1024;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

const answers = z.object({
  v: z.literal(1),
  answers: z
    .array(
      z.union([
        z.object({ ok: z.unknown().describe('What the operation answers.') }),
        z.object({
          error: z.object({
            code: z.string(),
            message: z.string(),
            done: z.literal(false).exactOptional().describe('It was not carried out, and will not be.'),
          }),
        }),
      ]),
    )
    .describe('One for each operation, in the order asked.'),
});

/** The counters as a store for `remoteStore`, for those that show the token. */
export function storeEndpoints({ token, run }: ServedStore): Endpoint[] {
  const expected = digest(token);
  return [
    {
      methods: ['POST'],
      path: '/v1/store',
      tag: 'Store',
      summary: 'Operations on the counters themselves: what `remoteStore` of the library speaks',
      description:
        'Only with `HEADGATE_STORE_TOKEN`, which is the token to show. Rules, notes and fallbacks are those of who asks; both sides are of the same version. ' +
        'Limits are named by their place in `limits`; at most 64 checks in all.',
      admit({ headers }, reply) {
        const shown = bearerIn(headers.authorization ?? '') ?? '';
        if (timingSafeEqual(digest(shown), expected)) return undefined;
        const problem = plainProblem(401, { detail: 'show the token of this service: Authorization: Bearer ...' });
        return sendProblem(reply.header('www-authenticate', 'Bearer'), problem);
      },
      body: storeBody,
      largestBody,
      example: {
        v: 1,
        limits: [{ kind: 'tokenBucket', capacity: 20, creditUnits: 2, creditUs: 1 }],
        ops: [{ op: 'decide', checks: [{ rule: 'search', key: 'alice', limit: 0, cost: 1 }] }],
      },
      status: 200,
      answer: answers,
      problems: [400, 401, 413, 415],
      async handle({ body }, reply) {
        const operations = operationsOf(readBody(storeBody, body));
        return reply.header('cache-control', 'no-store').send({ v: 1, answers: await run(operations) });
      },
    },
  ];
}
