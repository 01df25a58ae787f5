import type { IncomingMessage, ServerResponse } from 'node:http';
import type {} from 'fastify';
import { rateLimiting } from './core.js';
import { seenByNode, whenEnded } from './node.js';
import type { RateLimitInfo, RateLimitOptions, Refusal } from './types.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the last rate limit on this request's way decided. */
    rateLimit?: RateLimitInfo;
  }
}

/** A Fastify request, as far as choosing rules and keys goes; annotate a callback's parameter with `FastifyRequest` to have all of it. */
export interface HookRequest {
  readonly raw: IncomingMessage;
  readonly url: string;
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  // As a route's schema types them.
  /* eslint-disable @typescript-eslint/no-explicit-any */
  body: any;
  params: any;
  query: any;
  /* eslint-enable @typescript-eslint/no-explicit-any */
}

/** A Fastify reply, as far as a refusal needs it. */
export interface HookReply {
  readonly raw: ServerResponse;
  code(status: number): unknown;
  headers(fields: Record<string, string>): unknown;
  send(payload?: unknown): unknown;
}

/** A hook for Fastify. `of` tells what this one decided about a request. */
export interface FastifyRateLimit<Name extends string, Req extends HookRequest> {
  (request: Req, reply: HookReply): Promise<unknown>;
  of(request: Req): RateLimitInfo<Name> | undefined;
}

/**
 * A hook for Fastify 5: decides, sets header fields, answers 429 with a problem. As `onRequest` it refuses before a body is read; rules that
 * need the body are a `preHandler`.
 *
 * @param options.onRefused - answers a refusal in a way of its own; `refusal.headers` are set, and so is the status
 * @throws ConfigError naming the option
 * @example
 * ```ts
 * import Fastify from 'fastify';
 * import { createLimiter, fixedWindow, tokenBucket } from 'headgate';
 * import { rateLimit } from 'headgate/fastify';
 *
 * const limiter = createLimiter({
 *   rules: { search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) }, login: { limit: fixedWindow({ limit: 5, window: '1m' }) } },
 * });
 * const app = Fastify();
 * app.addHook('onRequest', rateLimit({ limiter, rule: 'search', trustProxies: 1 }));
 * app.post('/login', { preHandler: rateLimit({ limiter, rule: 'login', key: (request) => request.body.account }) }, async () => 'in');
 * ```
 */
export function rateLimit<Name extends string, Plan extends string = string, Req extends HookRequest = HookRequest>(
  options: RateLimitOptions<Name, Plan, Req> & {
    readonly onRefused?: (refusal: Refusal<Name>, context: { readonly request: Req; readonly reply: HookReply }) => unknown;
  },
): FastifyRateLimit<Name, NoInfer<Req>> {
  const { onRefused } = options;
  const limiting = rateLimiting<Name, Plan, Req>(options, { seen: ({ raw }) => seenByNode(raw), options: ['onRefused'] });

  async function handle(request: Req, reply: HookReply): Promise<unknown> {
    const verdict = await limiting.decide(request);
    if (verdict === undefined) return undefined;
    const { refusal, ended, fields } = verdict;
    (request as { rateLimit?: RateLimitInfo | undefined }).rateLimit = limiting.of(request);
    reply.headers({ ...(refusal?.headers ?? fields()) });
    if (refusal === undefined) {
      if (ended !== undefined) whenEnded(request.raw, reply.raw, ended);
      return undefined;
    }
    reply.code(refusal.status);
    return onRefused === undefined ? reply.send(JSON.stringify(refusal.problem)) : onRefused(refusal, { request, reply });
  }

  return Object.assign(handle, { of: limiting.of });
}
export type { AskedCheck, CountWhen, Ending, Given, RateLimitInfo, RateLimitOptions, Refusal } from './types.js';
