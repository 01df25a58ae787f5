import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { bearerIn } from '../../bearer.js';
import type { RunOperations } from '../../usecases/store-operations.js';
import { plainProblem, readBody, sendProblem } from './errors.js';
import { operationsOf, storeBody } from './store-bodies.js';

export interface ServedStore {
  readonly token: string;
  readonly run: RunOperations;
}

/** 64 checks whose keys are as long as keys may be. Who has no token is not read. */
const largestBody = 16 * 1024 * 1024;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The counters as a store for `remoteStore`, for those that show the token. */
export function storeRoutes(app: FastifyInstance, { token, run }: ServedStore): void {
  const expected = digest(token);
  app.addHook('onRequest', async ({ headers }, reply) => {
    const shown = bearerIn(headers.authorization ?? '') ?? '';
    if (timingSafeEqual(digest(shown), expected)) return;
    const problem = plainProblem(401, { detail: 'show the token of this service: Authorization: Bearer ...' });
    return sendProblem(reply.header('www-authenticate', 'Bearer'), problem);
  });
  app.post('/v1/store', { bodyLimit: largestBody }, async ({ body }, reply) => {
    const operations = operationsOf(readBody(storeBody, body));
    return reply.header('cache-control', 'no-store').send({ v: 1, answers: await run(operations) });
  });
}
