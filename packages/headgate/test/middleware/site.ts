import type { Limiter, RuleOptions } from 'headgate';
import type { RateLimitInfo, RateLimitOptions } from 'headgate/express';

/** What a request says, whatever the framework. */
export interface Facts {
  readonly method: string;
  header(name: string): string | undefined;
  readonly body: unknown;
}

/** What a handler answers. A body in parts is sent as it comes. */
export interface Answer {
  readonly status: number;
  readonly body?: string | AsyncIterable<string>;
}

/** One rate limit before the handler; functions are of the facts. `ownAnswer` makes refusals be answered by a handler of one's own. */
export type Limit = RateLimitOptions<string, string, Facts> & { readonly ownAnswer?: string };

/** A web application of one route, `/`, for all methods. */
export interface Site {
  readonly limits: readonly Limit[];
  handler(facts: Facts, info: RateLimitInfo | undefined): Answer | Promise<Answer>;
}

export interface Running {
  readonly port: number;
  close(): Promise<void>;
}

/** A framework that serves sites on a real socket. */
export interface Host {
  readonly name: string;
  /** Where it differs from the others, and why it may: cases look these up. */
  readonly differs: {
    /** An error that is thrown takes the fields along. */
    readonly errorsDropFields?: string;
    /** It has no socket to ask for the client's address. */
    readonly noSocket?: string;
    /** Refusals are answered in a way of one's own by means of the framework. */
    readonly ownAnswerElsewhere?: string;
    /** It hears nothing of clients that leave while their request waits behind another on the same connection. */
    readonly unheardInPipelines?: string;
  };
  start(site: Site): Promise<Running>;
}

/** Where a behaviour is looked at: a framework over a store. */
export interface Bench {
  readonly host: Host;
  /** A limiter over an empty store. */
  limiterOf(rules: Record<string, RuleOptions>): Limiter;
  /** A limiter whose store is gone. */
  limiterWithoutStore(rules: Record<string, RuleOptions>): Limiter;
  /** Starts a site, which ends with the case. */
  serve(site: Site): Promise<number>;
}

/** One behaviour that all frameworks share. `run` rejects with an AssertionError where it is not so. */
export interface Behaviour {
  readonly name: string;
  run(bench: Bench): Promise<void>;
}

const functions = ['rule', 'key', 'cost', 'plan', 'checks', 'skip', 'address'] as const;

/** A limit's options with functions of a framework's request. */
export function optionsFor<Req>(limit: Limit, factsOf: (request: Req) => Facts | Promise<Facts>): RateLimitOptions<string, string, Req> {
  const options: Record<string, unknown> = { ...limit };
  delete options['ownAnswer'];
  const mapped = functions.flatMap((name) => {
    const value = options[name];
    if (typeof value !== 'function') return [];
    return [[name, async (request: Req) => (value as (facts: Facts) => unknown)(await factsOf(request))]];
  });
  return { ...options, ...Object.fromEntries(mapped) } as unknown as RateLimitOptions<string, string, Req>;
}
