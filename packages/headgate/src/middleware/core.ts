import { checkAtOnce } from '../at-once.js';
import { problem, problemContentType, problemOf, rateLimitFields, type Problem } from '../http/index.js';
import type { Decision, GroupDecision } from '../index.js';
import { addressKeys, type Seen } from './address.js';
import { chooser, NoKey, type Chosen } from './checks.js';
import { atTheEnd } from './counting.js';
import { checkOptions, readTelling } from './options.js';
import { after, orElse, type Soon } from './soon.js';
import { Info } from './so-far.js';
import type { Ending, RateLimitInfo, RateLimitOptions, Refusal } from './types.js';
import { warner, watchLimiters } from './warnings.js';

/** What became of a request. */
export interface Verdict<Name extends string> {
  /** What was decided; undefined where the request lacks its key. */
  readonly info: RateLimitInfo<Name> | undefined;
  /** Undefined if the request may pass. */
  readonly refusal: Refusal<Name> | undefined;
  /** To be called when the response has ended, if there is something to do then. */
  readonly ended: ((ending: Ending) => void) | undefined;
}

/** Rate limiting without a framework. */
export interface RateLimiting<Name extends string, Req> {
  /**
   * Decides about a request, in the same turn if nothing has to be waited for; undefined if it is skipped. Throws or rejects with what the
   * user's functions throw.
   */
  decide(request: Req): Soon<Verdict<Name> | undefined>;
  /** Fields that the response tells the limits in: of all that was decided about the request by then. */
  fields(request: Req): Readonly<Record<string, string>>;
  /** What was decided about a request; undefined if nothing was. */
  of(request: Req): RateLimitInfo<Name> | undefined;
}

function refusalOf<Name extends string>(
  problem: Problem,
  fields: Readonly<Record<string, string>>,
  info?: RateLimitInfo<Name>,
): Refusal<Name> {
  const headers = { ...fields, 'Cache-Control': 'no-store', 'Content-Type': problemContentType };
  return { status: problem.status, problem, headers, info };
}

/** A key that is no text, too long or not well formed came with the request, be it from a JSON body: that is the client's fault, and no error of ours. */
function asNoKey(error: unknown): never {
  throw (error as { code?: unknown }).code === 'HEADGATE_BAD_KEY' ? new NoKey('that can be used: it is text') : error;
}

function refuseWithoutKey<Name extends string>(error: unknown): Verdict<Name> {
  if (!(error instanceof NoKey)) throw error;
  const detail = problem({ status: 400, title: 'Bad request', detail: error.message });
  return { info: undefined, refusal: refusalOf<Name>(detail, {}), ended: undefined };
}

/**
 * Makes what all frameworks share: chooses rules and keys, decides, renders fields and refusals, counts by outcome, warns.
 *
 * @param framework.seen - what a framework's request says of its client
 * @param framework.options - names of options that only this framework has
 */
export function rateLimiting<Name extends string, Plan extends string, Req extends object>(
  options: RateLimitOptions<Name, Plan, Req>,
  framework: { readonly seen: (request: Req) => Seen; readonly options: readonly string[] },
): RateLimiting<Name, Req> {
  type AllChosen = readonly Chosen<Name, Plan>[];
  checkOptions(options, framework.options);
  const { limiter, skip } = options;
  const warn = warner(limiter, options.onWarning);
  const telling = readTelling(options);
  const choose = chooser(options, addressKeys(options, warn));
  const check = checkAtOnce<Name>(limiter);
  const watchLimiter = watchLimiters(limiter, warn);
  const decider = { limiter, telling };

  function ask(chosen: AllChosen): Soon<Decision<Name> | GroupDecision<Name>> {
    const [first] = chosen;
    if (first !== undefined && chosen.length === 1) return check(first.rule, first.key, first.options);
    return limiter.checkAll(chosen.map(({ rule, key, options }) => ({ ...options, rule, key })));
  }

  function judge(answer: Decision<Name> | GroupDecision<Name>, { request, chosen }: { request: Req; chosen: AllChosen }): Verdict<Name> {
    const info = new Info(request, answer, decider) as unknown as RateLimitInfo<Name>;
    const { decisions } = info;
    const refused = problemOf(decisions);
    if (refused !== undefined) return { info, refusal: refusalOf(refused, fields(request), info), ended: undefined };
    return { info, refusal: undefined, ended: atTheEnd(limiter, { checks: chosen, decisions }, warn) };
  }

  function decideChosen(chosen: AllChosen, request: Req): Soon<Verdict<Name> | undefined> {
    if (chosen.length === 0) return undefined;
    watchLimiter();
    return after(orElse(ask, asNoKey, chosen), judge, { request, chosen });
  }

  // What is seen is taken before anything is awaited: a client that leaves takes its address along.
  const decideAsked = (request: Req): Soon<Verdict<Name> | undefined> =>
    after(choose(request, framework.seen(request)), decideChosen, request);

  const decideUnskipped =
    skip === undefined
      ? decideAsked
      : (request: Req) => after(skip(request), (skipped, request: Req) => (skipped ? undefined : decideAsked(request)), request);

  const fields = (request: Req): Readonly<Record<string, string>> => rateLimitFields(Info.answersOf(request), telling.formats);

  return {
    decide: (request) => orElse(decideUnskipped, refuseWithoutKey<Name>, request),
    fields,
    of: (request) => Info.of(request, decider) as RateLimitInfo<Name> | undefined,
  };
}
