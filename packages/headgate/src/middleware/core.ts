import { checkAtOnce } from '../at-once.js';
import { inputError, show } from '../errors.js';
import { problem, problemContentType, problemOf, rateLimitFields, type Problem } from '../http/index.js';
import type { Limiter } from '../index.js';
import { addressKeys, type Seen } from './address.js';
import { chooser, NoKey, type Chosen } from './checks.js';
import { atTheEnd } from './counting.js';
import { checkOptions, readTelling } from './options.js';
import { after, orElse, type Soon } from './soon.js';
import { answeredBy, infoBy, remember } from './so-far.js';
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

type Asked<Name extends string> = Omit<RateLimitInfo<Name>, 'settle'>;

function withSettle<Name extends string>(limiter: Limiter<Name>, { decision, decisions }: Asked<Name>): RateLimitInfo<Name> {
  return {
    decision,
    decisions,
    async settle(rule, actual) {
      const decision = decisions.find((one) => one.rule === rule);
      if (decision !== undefined) return limiter.settle(decision, actual);
      const known = decisions.map((one) => show(one.rule)).join(', ');
      throw inputError('HEADGATE_BAD_CALL', `settle: this request was checked under ${known}; got ${show(rule)}`);
    },
  };
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
  checkOptions(options, framework.options);
  const { limiter, skip } = options;
  const warn = warner(limiter, options.onWarning);
  const telling = readTelling(options);
  const addressKey = addressKeys(options, warn);
  const choose = chooser(options);
  const check = checkAtOnce<Name>(limiter);
  const watchLimiter = watchLimiters(limiter, warn);

  function ask(chosen: readonly Chosen<Name, Plan>[]): Soon<Asked<Name>> {
    const [first] = chosen;
    if (first !== undefined && chosen.length === 1)
      return after(check(first.rule, first.key, first.options), (decision) => ({ decision, decisions: [decision] }));
    const checks = chosen.map(({ rule, key, options }) => ({ ...options, rule, key }));
    return limiter.checkAll(checks).then((decision) => ({ decision, decisions: decision.decisions }));
  }

  function judge(request: Req, chosen: readonly Chosen<Name, Plan>[], asked: Asked<Name>): Verdict<Name> {
    const info = withSettle(limiter, asked);
    const { decisions } = info;
    remember(request, { by: limiting, info, telling });
    const refused = problemOf(decisions);
    if (refused !== undefined) return { info, refusal: refusalOf(refused, limiting.fields(request), info), ended: undefined };
    return { info, refusal: undefined, ended: atTheEnd(limiter, { checks: chosen, decisions }, warn) };
  }

  function decideChosen(request: Req, chosen: readonly Chosen<Name, Plan>[]): Soon<Verdict<Name> | undefined> {
    if (chosen.length === 0) return undefined;
    watchLimiter();
    return after(
      orElse(() => ask(chosen), asNoKey),
      (asked) => judge(request, chosen, asked),
    );
  }

  function decideUnskipped(request: Req): Soon<Verdict<Name> | undefined> {
    // Taken before anything is awaited: a client that leaves takes its address along.
    const seen = framework.seen(request);
    return after(
      choose(request, () => addressKey(request, seen)),
      (chosen) => decideChosen(request, chosen),
    );
  }

  const decideOrThrow = (request: Req): Soon<Verdict<Name> | undefined> =>
    skip === undefined
      ? decideUnskipped(request)
      : after(skip(request), (skipped) => (skipped ? undefined : decideUnskipped(request)));

  const limiting: RateLimiting<Name, Req> = {
    decide: (request) => orElse(() => decideOrThrow(request), refuseWithoutKey<Name>),
    fields: (request) => rateLimitFields(answeredBy(request), telling.formats),
    of: (request) => infoBy(request, limiting) as RateLimitInfo<Name> | undefined,
  };
  return limiting;
}
