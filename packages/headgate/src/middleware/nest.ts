import type { IncomingMessage, ServerResponse } from 'node:http';
import { createParamDecorator, HttpException, UseGuards, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { rateLimiting } from './core.js';
import { seenByNode, whenEnded } from './node.js';
import type { RateLimitInfo, RateLimitOptions, Refusal } from './types.js';

/** The platform's request (Express or Fastify), as far as choosing rules and keys goes. */
export interface NestRequest {
  readonly headers: IncomingMessage['headers'];
  readonly method: string;
  readonly url: string;
  // As the platform, pipes and guards type them.
  /* eslint-disable @typescript-eslint/no-explicit-any */
  body: any;
  params: any;
  query: any;
  user?: any;
  /* eslint-enable @typescript-eslint/no-explicit-any */
  /** What the last rate limit on this request's way decided. */
  rateLimit?: RateLimitInfo | undefined;
}

/** A platform's response: Express's is Node's own, Fastify's reply has it. */
type NestResponse = ServerResponse | { readonly raw: ServerResponse; header(name: string, value: string): unknown };

const rawRequest = (request: object): IncomingMessage => ('raw' in request ? request.raw : request) as IncomingMessage;

/** What a guard throws to refuse: an exception filter may answer it in a way of its own. Its fields are set on the response. */
export class RateLimitException extends HttpException {
  constructor(readonly refusal: Refusal) {
    super({ ...refusal.problem }, refusal.status);
  }
}

/** A guard for Nest. `of` tells what this one decided about a request. */
export interface NestRateLimit<Name extends string, Req extends NestRequest> extends CanActivate {
  canActivate(context: ExecutionContext): Promise<boolean>;
  of(request: Req): RateLimitInfo<Name> | undefined;
}

function setFields(response: NestResponse, fields: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(fields)) {
    if ('raw' in response) response.header(name, value);
    else response.setHeader(name, value);
  }
}

/**
 * A guard for Nest, on Express or Fastify: decides, sets header fields, throws a {@link RateLimitException} that Nest answers 429 with a
 * problem. For a whole application `app.useGlobalGuards(rateLimit({ ... }))`; for controllers and handlers see {@link RateLimit}.
 *
 * @throws ConfigError naming the option
 * @example
 * ```ts
 * import { createLimiter, tokenBucket } from 'headgate';
 * import { rateLimit } from 'headgate/nest';
 *
 * const limiter = createLimiter({ rules: { search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) } } });
 * const guard = { provide: 'APP_GUARD', useValue: rateLimit({ limiter, rule: 'search', trustProxies: 1 }) };
 * ```
 */
export function rateLimit<Name extends string, Plan extends string = string, Req extends NestRequest = NestRequest>(
  options: RateLimitOptions<Name, Plan, Req>,
): NestRateLimit<Name, NoInfer<Req>> {
  const limiting = rateLimiting<Name, Plan, Req>(options, { seen: (request) => seenByNode(rawRequest(request)), options: [] });
  return {
    of: limiting.of,
    async canActivate(context) {
      if (context.getType() !== 'http')
        throw new TypeError(`rateLimit guards HTTP requests; got ${context.getType()}: ask the limiter directly there`);
      const http = context.switchToHttp();
      const request = http.getRequest<Req>();
      const response = http.getResponse<NestResponse>();
      const verdict = await limiting.decide(request);
      if (verdict === undefined) return true;
      const { info, refusal, ended } = verdict;
      request.rateLimit = info;
      setFields(response, refusal?.headers ?? limiting.fields(request));
      if (refusal !== undefined) throw new RateLimitException(refusal);
      if (ended !== undefined) whenEnded(rawRequest(request), 'raw' in response ? response.raw : response, ended);
      return true;
    },
  };
}

/**
 * Decorates a controller or a handler with a guard of {@link rateLimit}.
 *
 * @throws ConfigError naming the option
 * @example
 * ```ts
 * import { createLimiter, fixedWindow } from 'headgate';
 * import { RateLimit } from 'headgate/nest';
 *
 * const limiter = createLimiter({ rules: { login: { limit: fixedWindow({ limit: 5, window: '1m' }) } } });
 * const LimitLogins = RateLimit({ limiter, rule: 'login', key: (request) => request.body?.account, countWhen: 'failure' });
 * // @Controller() class Accounts { @Post('login') @LimitLogins login() { ... } }
 * ```
 */
export function RateLimit<Name extends string, Plan extends string = string, Req extends NestRequest = NestRequest>(
  options: RateLimitOptions<Name, Plan, Req>,
): MethodDecorator & ClassDecorator {
  return UseGuards(rateLimit(options));
}

/** A handler's parameter: what the last rate limit on this request's way decided, a {@link RateLimitInfo}. */
export const RateLimited = createParamDecorator((_data: unknown, context: ExecutionContext): RateLimitInfo | undefined => {
  return context.switchToHttp().getRequest<NestRequest>().rateLimit;
});
export type { AskedCheck, CountWhen, Ending, Given, RateLimitInfo, RateLimitOptions, Refusal } from './types.js';
