import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, MiddlewareHandler } from 'hono';
import { rateLimiting } from './core.js';
import { whenEnded } from './node.js';
import type { RateLimitInfo, RateLimitOptions, Refusal } from './types.js';
import { seenByWeb, whenAborted, whenSent } from './web.js';

/** What handlers find by `c.get('rateLimit')`: what the last rate limit on this request's way decided. */
export interface RateLimitVariables<Name extends string = string> {
  Variables: { rateLimit: RateLimitInfo<Name> | undefined };
}

/** A middleware for Hono. `of` tells what this one decided about a request. */
export type HonoRateLimit<Name extends string> = MiddlewareHandler<RateLimitVariables<Name>> & {
  of(context: Context): RateLimitInfo<Name> | undefined;
};

/** What `@hono/node-server` hands on. */
const nodeOf = (context: Context): { readonly incoming?: IncomingMessage; readonly outgoing?: ServerResponse } =>
  (context.env ?? {}) as ReturnType<typeof nodeOf>;

/**
 * Middleware for Hono 4: decides, sets header fields, answers 429 with a problem. Under `@hono/node-server` the client's address is the
 * socket's, or a trusted proxy's word; elsewhere give `trustProxies: 1`, `address` or `key`.
 *
 * @param options.onRefused - answers a refusal in a way of its own; `refusal.headers` are set
 * @throws ConfigError naming the option
 * @example
 * ```ts
 * import { createLimiter, tokenBucket } from 'headgate';
 * import { rateLimit } from 'headgate/hono';
 * import { Hono } from 'hono';
 *
 * const limiter = createLimiter({ rules: { search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) } } });
 * const app = new Hono();
 * app.get('/search', rateLimit({ limiter, rule: 'search' }), (c) => c.json({ left: c.get('rateLimit')?.decision.remaining }));
 * ```
 */
export function rateLimit<Name extends string, Plan extends string = string>(
  options: RateLimitOptions<Name, Plan, Context> & {
    readonly onRefused?: (refusal: Refusal<Name>, context: Context) => Response | Promise<Response>;
  },
): HonoRateLimit<Name> {
  const { onRefused } = options;
  const limiting = rateLimiting<Name, Plan, Context>(options, {
    seen: (context) => seenByWeb(context.req.raw, nodeOf(context).incoming?.socket.remoteAddress),
    options: ['onRefused'],
  });

  const handle: MiddlewareHandler<RateLimitVariables<Name>> = async (context, next) => {
    const verdict = await limiting.decide(context);
    if (verdict === undefined) return next();
    const { info, refusal, ended } = verdict;
    context.set('rateLimit', info);
    const { raw } = context.req;
    if (refusal !== undefined) {
      for (const [name, value] of Object.entries(refusal.headers)) context.header(name, value);
      context.status(refusal.status as Parameters<typeof context.status>[0]);
      return onRefused === undefined ? context.body(JSON.stringify(refusal.problem)) : onRefused(refusal, context);
    }
    const { incoming, outgoing } = nodeOf(context);
    // Node's own response tells more exactly when it ended.
    const onNode = incoming !== undefined && outgoing !== undefined;
    if (ended !== undefined) {
      if (onNode) whenEnded(incoming, outgoing, ended);
      else whenAborted(raw, ended);
    }
    try {
      await next();
    } catch (error) {
      if (!onNode) ended?.({ status: 500, aborted: false });
      throw error;
    }
    // After the handler: what it returns may be a response of its own making.
    for (const [name, value] of Object.entries(limiting.fields(context))) context.header(name, value);
    if (ended === undefined || onNode) return;
    const response = whenSent(raw, context.res, ended);
    // Else Hono would merge the old response's fields into the new one.
    context.res = undefined;
    context.res = response;
  };

  return Object.assign(handle, { of: limiting.of });
}
export type { AskedCheck, CountWhen, Ending, Given, RateLimitInfo, RateLimitOptions, Refusal } from './types.js';
