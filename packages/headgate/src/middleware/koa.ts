import type { IncomingMessage, ServerResponse } from 'node:http';
import { rateLimiting } from './core.js';
import { seenByNode, whenEnded } from './node.js';
import type { RateLimitInfo, RateLimitOptions, Refusal } from './types.js';

/** A Koa context, as far as choosing rules and keys goes; annotate a callback's parameter with `Context` to have all of it. */
export interface KoaContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly path: string;
  readonly method: string;
  status: number;
  body: unknown;
  // As Koa types them.
  /* eslint-disable @typescript-eslint/no-explicit-any */
  request: any;
  state: any;
  /* eslint-enable @typescript-eslint/no-explicit-any */
  get(name: string): string;
  set(fields: Readonly<Record<string, string>>): void;
}

/** A middleware for Koa. `of` tells what this one decided about a request; so does `ctx.state.rateLimit`, of the last one. */
export interface KoaRateLimit<Name extends string, Context extends KoaContext> {
  (context: Context, next: () => Promise<unknown>): Promise<unknown>;
  of(context: Context): RateLimitInfo<Name> | undefined;
}

/**
 * Middleware for Koa: decides, sets header fields, answers 429 with a problem. Koa takes all fields from the answer to an error that is
 * thrown, these too.
 *
 * @param options.onRefused - answers a refusal in a way of its own; `refusal.headers` are set, and so is the status
 * @throws ConfigError naming the option
 * @example
 * ```ts
 * import { createLimiter, tokenBucket } from 'headgate';
 * import { rateLimit } from 'headgate/koa';
 * import Koa from 'koa';
 *
 * const limiter = createLimiter({ rules: { search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) } } });
 * const app = new Koa();
 * app.use(rateLimit({ limiter, rule: 'search', trustProxies: 1 }));
 * ```
 */
export function rateLimit<Name extends string, Plan extends string = string, Context extends KoaContext = KoaContext>(
  options: RateLimitOptions<Name, Plan, Context> & { readonly onRefused?: (refusal: Refusal<Name>, context: Context) => unknown },
): KoaRateLimit<Name, NoInfer<Context>> {
  const { onRefused } = options;
  const limiting = rateLimiting<Name, Plan, Context>(options, { seen: ({ req }) => seenByNode(req), options: ['onRefused'] });

  async function handle(context: Context, next: () => Promise<unknown>): Promise<unknown> {
    const verdict = await limiting.decide(context);
    if (verdict === undefined) return next();
    const { info, refusal, ended } = verdict;
    (context.state as { rateLimit?: RateLimitInfo | undefined }).rateLimit = info;
    context.set(refusal?.headers ?? limiting.fields(context));
    if (refusal === undefined) {
      if (ended !== undefined) whenEnded(context.req, context.res, ended);
      return next();
    }
    context.status = refusal.status;
    if (onRefused !== undefined) return onRefused(refusal, context);
    context.body = JSON.stringify(refusal.problem);
    return undefined;
  }

  return Object.assign(handle, { of: limiting.of });
}
export type { AskedCheck, CountWhen, Ending, Given, RateLimitInfo, RateLimitOptions, Refusal } from './types.js';
