import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Decision } from 'headgate';
import type { Arrival, Watching } from '../../observe/requests.js';
import { contextIn } from './request-id.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is told of it. */
    watching: Watching | undefined;
  }
}

/** Tells of each request when it comes and when it is over, however it ends, and sends its id back. */
export function watchRequests(app: FastifyInstance, watch: (arrival: Arrival) => Watching): void {
  app.decorateRequest('watching', undefined);
  app.addHook('onRequest', (request, reply, done) => {
    const { url: route } = request.routeOptions;
    const watching = watch({ route, method: request.method, parent: contextIn(request.headers), log: request.log });
    request.watching = watching;
    reply.header('x-request-id', request.id);
    // Also where the client has gone before the answer.
    reply.raw.once('close', () => watching.ended(statusOf(reply)));
    done();
  });
}

/** nginx's word for a client that closed its connection before the answer. */
const clientGone = 499;

const statusOf = ({ raw }: FastifyReply): number => (raw.writableFinished ? raw.statusCode : clientGone);

/** Runs what decides a request, and tells how long it took and what was decided. */
export async function deciding<T>(
  request: FastifyRequest,
  decide: () => Promise<T>,
  made: (answer: T) => readonly { readonly decision: Decision }[],
): Promise<T> {
  const began = performance.now();
  const answer = await decide();
  const ended = performance.now();
  request.watching?.decided({ decisions: made(answer).map(({ decision }) => decision), began, ended });
  return answer;
}
