import type { IncomingMessage, ServerResponse } from 'node:http';
import type {} from 'fastify';
import { rateLimiting, type Verdict } from './core.js';
import { seenByNode, whenEnded } from './node.js';
import { isPending } from './soon.js';
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
  headers(fields: Readonly<Record<string, string>>): unknown;
  send(payload?: unknown): unknown;
}

/**
 * A hook for Fastify. `of` tells what this one decided about a request. What is decided at once calls `done` in the same turn and returns
 * nothing; else it returns a promise. In a hook of your own `await` it: then `done` may be left out.
 */
export interface FastifyRateLimit<Name extends string, Req extends HookRequest> {
  (request: Req, reply: HookReply, done?: () => void): Promise<unknown> | undefined;
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

  /** Sets what is told and answers a refusal; undefined if the request goes on, else a promise of its answer. */
  function respond(verdict: Verdict<Name> | undefined, request: Req, reply: HookReply): Promise<unknown> | undefined {
    if (verdict === undefined) return undefined;
    const { info, refusal, ended } = verdict;
    (request as { rateLimit?: RateLimitInfo | undefined }).rateLimit = info;
    reply.headers(refusal?.headers ?? limiting.fields(request));
    if (refusal === undefined) {
      if (ended !== undefined) whenEnded(request.raw, reply.raw, ended);
      return undefined;
    }
    reply.code(refusal.status);
    // A reply is a thenable, which is there when it was sent.
    return Promise.resolve(onRefused === undefined ? reply.send(JSON.stringify(refusal.problem)) : onRefused(refusal, { request, reply }));
  }

  function handle(request: Req, reply: HookReply, done?: () => void): Promise<unknown> | undefined {
    const verdict = limiting.decide(request);
    if (isPending(verdict)) return Promise.resolve(verdict).then((decided) => respond(decided, request, reply));
    const answer = respond(verdict, request, reply);
    if (answer === undefined) done?.();
    return answer;
  }

  return Object.assign(handle, { of: limiting.of });
}
export type { AskedCheck, CountWhen, Ending, Given, RateLimitInfo, RateLimitOptions, Refusal } from './types.js';
