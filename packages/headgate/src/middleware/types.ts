import type { AddressSource, HeaderFormat, Problem } from '../http/index.js';
import type { Decision, Limiter, Settlement } from '../index.js';

/** A value, or a function of the request that has it, perhaps only later. */
export type Given<Value, Req> = Value | ((request: Req) => Value | Promise<Value>);

/** How a response ended. */
export interface Ending {
  /** 500 where a handler threw and nothing was answered yet. */
  readonly status: number;
  /** The client went away before it had all of the response. */
  readonly aborted: boolean;
}

/**
 * Which requests keep what they took, once the response has ended: all; those that succeed (a status below 400); those that fail; or what a
 * function says. Units are taken before the handler runs and given back after, so many at once cannot pass beside the limit. A client that
 * goes away is always counted, and no function is asked about it.
 */
export type CountWhen = 'always' | 'success' | 'failure' | ((ending: Ending) => boolean);

/** One check that a request asks for. */
export interface AskedCheck<Name extends string, Plan extends string> {
  readonly rule: Name;
  /**
   * Whose budget; the client's address if this is left out. A key that is there and missing (undefined, empty) is answered 400: it is never
   * one budget for everybody.
   */
  readonly key?: string;
  /** Units: a whole number of at least 1, 1 by default. */
  readonly cost?: number;
  readonly plan?: Plan;
  /** As in the options, of this check alone. */
  readonly countWhen?: CountWhen;
}

/** One rule for each request. */
export interface OneRule<Name extends string, Plan extends string, Req> {
  readonly rule: Given<Name, Req>;
  readonly key?: Given<string, Req>;
  readonly cost?: Given<number, Req>;
  readonly plan?: Given<Plan | undefined, Req>;
  readonly checks?: never;
}

/** Several rules, all or nothing. None: the request passes, as if it were skipped. */
export interface SeveralRules<Name extends string, Plan extends string, Req> {
  readonly checks: Given<readonly AskedCheck<Name, Plan>[], Req>;
  readonly rule?: never;
  readonly key?: never;
  readonly cost?: never;
  readonly plan?: never;
}

/** What every framework's `rateLimit` takes beside the rules. */
export interface CommonOptions<Name extends string, Plan extends string, Req> {
  readonly limiter: Limiter<Name, Plan>;
  /** True: the request passes unasked. */
  readonly skip?: (request: Req) => boolean | Promise<boolean>;
  /** Default `'always'`. */
  readonly countWhen?: CountWhen;
  /** How many proxies stand before this server (0 to 32), or their addresses and CIDRs. Nobody is trusted by default. */
  readonly trustProxies?: number | readonly string[];
  /** The one field that the proxies write the client's address into; `'x-forwarded-for'` by default. */
  readonly addressSource?: AddressSource;
  /** Bits of an IPv6 address that tell clients apart, 32 to 128; 64 by default. */
  readonly ipv6Prefix?: number;
  /** The client's address, where neither the socket nor a proxy tells it. What is not an address is an error, never a key. */
  readonly address?: (request: Req) => string | undefined | Promise<string | undefined>;
  /** Fields that tell the limits: one format, several that write different fields, or false. `'draft-11'` by default. */
  readonly headers?: HeaderFormat | readonly HeaderFormat[] | false;
  /** With it fields say whose budget they tell of (`pk`), as a keyed hash: at least 16 characters, the same on all servers. */
  readonly partitionSecret?: string;
  /** What a rule's units are (`qu`), such as `{ download: 'content-bytes' }`; requests if not said. */
  readonly quotaUnits?: { readonly [N in Name]?: string };
  /** Told of each misconfiguration once; by default `process.emitWarning`. */
  readonly onWarning?: (message: string) => void;
}

/** Options of `rateLimit`. Rule names and plans are the limiter's. */
export type RateLimitOptions<Name extends string, Plan extends string, Req> = CommonOptions<Name, Plan, Req> &
  (OneRule<NoInfer<Name>, NoInfer<Plan>, Req> | SeveralRules<NoInfer<Name>, NoInfer<Plan>, Req>);

/** What was decided about a request, for its handler. */
export interface RateLimitInfo<Name extends string = string> {
  /** The decision; of several checks the group's, which is the binding one: of those that refuse the longest wait, else the fewest remaining. */
  readonly decision: Decision<Name>;
  /** One for each check, in the order asked. */
  readonly decisions: readonly Decision<Name>[];
  /**
   * Says what a request really cost, where that is known only afterwards (tokens of a language model, bytes): gives back or charges the
   * difference to the cost it was checked with. Counts once, and `countWhen` then changes nothing any more.
   *
   * @param actual - units, a whole number of 0 or more
   * @throws TypeError for a rule that was not checked
   */
  settle(rule: Name, actual: number): Promise<Settlement>;
}

/** How a request is refused. */
export interface Refusal<Name extends string = string> {
  /** 429; 503 where only the store's absence refuses; 400 where the request lacks its key. */
  readonly status: number;
  /** RFC 9457. */
  readonly problem: Problem;
  /** All of the response's fields that it should have: limits, `Retry-After`, `Cache-Control`, `Content-Type`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined where the request lacks its key. */
  readonly info: RateLimitInfo<Name> | undefined;
}
