import type { IncomingMessage, ServerResponse } from 'node:http';
import { rateLimiting, type Verdict } from './core.js';
import { seenByNode, whenEnded } from './node.js';
import { isPending } from './soon.js';
import type { RateLimitInfo, RateLimitOptions, Refusal } from './types.js';

declare global {
  // Merges with the types of Express, which are not needed here.
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace Express {
    interface Request {
      /** What the last rate limit on this request's way decided. */
      rateLimit?: RateLimitInfo;
    }
  }
}

/** An Express request, as far as choosing rules and keys goes; annotate a callback's parameter with `Request` to have all of it. */
export interface ExpressRequest extends IncomingMessage, Express.Request {
  readonly originalUrl: string;
  readonly path: string;
  // As Express types them.
  /* eslint-disable @typescript-eslint/no-explicit-any */
  body: any;
  params: any;
  query: any;
  /* eslint-enable @typescript-eslint/no-explicit-any */
  get(name: string): string | undefined;
}

type Next = (error?: unknown) => void;

/** Express 4 and 5, and what else takes its middlewares. `of` tells what this one decided about a request. */
export interface ExpressRateLimit<Name extends string, Req extends IncomingMessage> {
  (request: Req, response: ServerResponse, next: Next): void;
  of(request: Req): RateLimitInfo<Name> | undefined;
}

/** Answers a refusal in a way of its own; `refusal.headers` are set, and so is the status. */
export type OnRefused<Name extends string, Req> = (
  refusal: Refusal<Name>,
  context: { readonly request: Req; readonly response: ServerResponse; readonly next: Next },
) => unknown;

/**
 * Middleware for Express 4 and 5: decides, sets header fields, answers 429 with a problem.
 *
 * @throws ConfigError naming the option
 * @example
 * ```ts
 * import express from 'express';
 * import { createLimiter, fixedWindow, slidingLog, tokenBucket } from 'headgate';
 * import { rateLimit } from 'headgate/express';
 *
 * const limiter = createLimiter({
 *   rules: {
 *     search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) },
 *     perIp: { limit: slidingLog({ limit: 100, window: '1m' }) },
 *     login: { limit: fixedWindow({ limit: 5, window: '1m' }) },
 *   },
 * });
 * const app = express();
 * app.use(rateLimit({ limiter, rule: 'search', trustProxies: 1 }));
 * app.post('/login', express.json(), rateLimit({ limiter, checks: (req) => [{ rule: 'perIp' }, { rule: 'login', key: req.body.account }] }));
 * ```
 */
export function rateLimit<Name extends string, Plan extends string = string, Req extends IncomingMessage = ExpressRequest>(
  options: RateLimitOptions<Name, Plan, Req> & { readonly onRefused?: OnRefused<Name, Req> },
): ExpressRateLimit<Name, NoInfer<Req>> {
  const { onRefused } = options;
  const limiting = rateLimiting<Name, Plan, Req>(options, { seen: seenByNode, options: ['onRefused'] });

  /** Sets what is told and answers a refusal; true if the request goes on. */
  function respond(verdict: Verdict<Name> | undefined, context: { request: Req; response: ServerResponse; next: Next }): boolean {
    if (verdict === undefined) return true;
    const { request, response, next } = context;
    const { info, refusal, ended } = verdict;
    if (info !== undefined) (request as Express.Request).rateLimit = info;
    const fields = refusal?.headers ?? limiting.fields(request);
    for (const name in fields) response.setHeader(name, fields[name] as string);
    if (refusal === undefined) {
      if (ended !== undefined) whenEnded(request, response, ended);
      return true;
    }
    response.statusCode = refusal.status;
    if (onRefused === undefined) response.end(JSON.stringify(refusal.problem));
    else Promise.resolve(onRefused(refusal, context)).catch(next);
    return false;
  }

  function handle(request: Req, response: ServerResponse, next: Next): void {
    let goesOn: boolean;
    try {
      const verdict = limiting.decide(request);
      if (isPending(verdict)) {
        verdict.then((decided) => respond(decided, { request, response, next }) && next()).then(undefined, next);
        return;
      }
      goesOn = respond(verdict, { request, response, next });
    } catch (error) {
      next(error);
      return;
    }
    // Outside of the attempt: what the next handler throws is no error of ours.
    if (goesOn) next();
  }

  return Object.assign(handle, { of: limiting.of });
}
export type { AskedCheck, CountWhen, Ending, Given, RateLimitInfo, RateLimitOptions, Refusal } from './types.js';
