import { rateLimiting } from './core.js';
import type { RateLimitInfo, RateLimitOptions, Refusal } from './types.js';
import { seenByWeb, whenAborted, whenSent } from './web.js';

/** A handler from Request to Response, with whatever else its framework hands it. */
export type FetchHandler<Req, Rest extends readonly unknown[]> = (request: Req, ...rest: Rest) => Response | Promise<Response>;

/** Puts a rate limit before a handler. `of` tells what it decided about a request. */
export interface FetchRateLimit<Name extends string, Req extends Request> {
  <Own extends Req, Rest extends readonly unknown[]>(handler: FetchHandler<Own, Rest>): (request: Own, ...rest: Rest) => Promise<Response>;
  of(request: Req): RateLimitInfo<Name> | undefined;
}

/** Fields of answers that came from elsewhere (`fetch`, `Response.redirect`) cannot be written. */
function withFields(response: Response, fields: Readonly<Record<string, string>>): Response {
  const writable = new Response(response.body, response);
  for (const [name, value] of Object.entries(fields)) writable.headers.set(name, value);
  return writable;
}

/**
 * For handlers from Request to Response, such as Next.js route handlers. Such a request has no socket, so the client's address comes from
 * `trustProxies: 1` (the platform's own proxy, which writes `X-Forwarded-For`) or from `address`; or give a `key`.
 *
 * @param options.onRefused - answers a refusal in a way of its own; `refusal.headers` are set on what it returns
 * @throws ConfigError naming the option
 * @example
 * ```ts
 * import { createLimiter, tokenBucket } from 'headgate';
 * import { rateLimit } from 'headgate/fetch';
 *
 * const limiter = createLimiter({ rules: { search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) } } });
 * const search = rateLimit({ limiter, rule: 'search', trustProxies: 1 });
 *
 * export const GET = search(async (request) => Response.json({ left: search.of(request)?.decision.remaining }));
 * ```
 */
export function rateLimit<Name extends string, Plan extends string = string, Req extends Request = Request>(
  options: RateLimitOptions<Name, Plan, Req> & {
    readonly onRefused?: (refusal: Refusal<Name>, request: Req) => Response | Promise<Response>;
  },
): FetchRateLimit<Name, NoInfer<Req>> {
  const { onRefused } = options;
  const limiting = rateLimiting<Name, Plan, Req>(options, { seen: (request) => seenByWeb(request), options: ['onRefused'] });

  async function answer(request: Req, handler: () => Response | Promise<Response>): Promise<Response> {
    const verdict = await limiting.decide(request);
    if (verdict === undefined) return handler();
    const { refusal, ended } = verdict;
    if (refusal !== undefined) {
      const { status, headers, problem } = refusal;
      if (onRefused === undefined) return new Response(JSON.stringify(problem), { status, headers });
      const own = await onRefused(refusal, request);
      const { 'Content-Type': _, ...others } = headers;
      return withFields(own, others);
    }
    if (ended === undefined) return withFields(await handler(), limiting.fields(request));
    whenAborted(request, ended);
    try {
      return whenSent(request, withFields(await handler(), limiting.fields(request)), ended);
    } catch (error) {
      ended({ status: 500, aborted: false });
      throw error;
    }
  }

  const limit = <Own extends Req, Rest extends readonly unknown[]>(handler: FetchHandler<Own, Rest>) => {
    return (request: Own, ...rest: Rest) => answer(request, () => handler(request, ...rest));
  };
  return Object.assign(limit, { of: limiting.of });
}
export type { AskedCheck, CountWhen, Ending, Given, RateLimitInfo, RateLimitOptions, Refusal } from './types.js';
