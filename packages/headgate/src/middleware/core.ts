import { inputError, show } from '../errors.js';
import { problem, problemContentType, problemOf, rateLimitFields, type Answered, type Problem } from '../http/index.js';
import { limitOf, type CheckRequest, type Decision, type Limiter } from '../index.js';
import { addressKeys, type Seen } from './address.js';
import { chooser, NoKey, type Chosen } from './checks.js';
import { atTheEnd } from './counting.js';
import { checkOptions, readTelling, type Telling } from './options.js';
import type { Ending, RateLimitInfo, RateLimitOptions, Refusal } from './types.js';
import { warner, watchLimiters } from './warnings.js';

/** What became of a request. */
export interface Verdict<Name extends string> {
  /** Fields that the response tells the limits in: of all that was decided about the request by then. */
  fields(): Readonly<Record<string, string>>;
  /** Undefined if the request may pass. */
  readonly refusal: Refusal<Name> | undefined;
  /** To be called when the response has ended, if there is something to do then. */
  readonly ended: ((ending: Ending) => void) | undefined;
}

/** Rate limiting without a framework. */
export interface RateLimiting<Name extends string, Req> {
  /** Decides about a request; undefined if it is skipped. Rejects with what the user's functions throw. */
  decide(request: Req): Promise<Verdict<Name> | undefined>;
  /** What was decided about a request; undefined if nothing was. */
  of(request: Req): RateLimitInfo<Name> | undefined;
}

/** What was answered about each request so far: several middlewares of one request fill the same fields. */
const answeredSoFar = new WeakMap<object, readonly Answered[]>();

function tell(request: object, decisions: readonly Decision[], { partitionKeyOf, quotaUnits }: Telling): void {
  const own = decisions.map((decision): Answered => {
    const quotaUnit = quotaUnits[decision.rule];
    if (partitionKeyOf === undefined && quotaUnit === undefined) return { decision, limit: limitOf(decision) };
    return {
      decision,
      limit: limitOf(decision),
      ...(partitionKeyOf === undefined ? undefined : { partitionKey: partitionKeyOf(decision.key) }),
      ...(quotaUnit === undefined ? undefined : { quotaUnit }),
    };
  });
  const before = answeredSoFar.get(request);
  answeredSoFar.set(request, before === undefined ? own : [...before, ...own]);
}

/** What has but a rule and a key is asked without options: a rest of it costs more than the decision. */
function checkOne<Name extends string>(limiter: Limiter<Name>, check: CheckRequest<Name>): Promise<Decision<Name>> {
  if (Object.keys(check).length === 2) return limiter.check(check.rule, check.key);
  const { rule, key, ...options } = check;
  return limiter.check(rule, key, options);
}

async function ask<Name extends string>(
  limiter: Limiter<Name>,
  chosen: readonly Chosen<Name>[],
): Promise<Omit<RateLimitInfo<Name>, 'settle'>> {
  const [first] = chosen;
  if (first === undefined || chosen.length > 1) {
    const group = await limiter.checkAll(chosen.map(({ check }) => check));
    return { decision: group, decisions: group.decisions };
  }
  const decision = await checkOne(limiter, first.check);
  return { decision, decisions: [decision] };
}

function withSettle<Name extends string>(limiter: Limiter<Name>, asked: Omit<RateLimitInfo<Name>, 'settle'>): RateLimitInfo<Name> {
  const { decision, decisions } = asked;
  return {
    decision,
    decisions,
    async settle(rule, actual) {
      const decision = asked.decisions.find((one) => one.rule === rule);
      if (decision !== undefined) return limiter.settle(decision, actual);
      const known = asked.decisions.map((one) => show(one.rule)).join(', ');
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
  const infos = new WeakMap<Req, RateLimitInfo<Name>>();

  async function decide(request: Req): Promise<Verdict<Name> | undefined> {
    if (skip !== undefined && (await skip(request))) return undefined;
    // Taken before anything is awaited: a client that leaves takes its address along.
    const seen = framework.seen(request);
    const chosen = await choose(request, () => addressKey(request, seen));
    if (chosen.length === 0) return undefined;
    watchLimiters(limiter, warn);
    const info = withSettle(limiter, await ask(limiter, chosen).catch(asNoKey));
    infos.set(request, info);
    const { decisions } = info;
    tell(request, decisions, telling);
    const fields = (): Record<string, string> => rateLimitFields(answeredSoFar.get(request) ?? [], telling.formats);
    const refused = problemOf(decisions);
    if (refused !== undefined) return { fields, refusal: refusalOf(refused, fields(), info), ended: undefined };
    const taken = chosen.flatMap(({ countWhen }, index) => {
      const decision = decisions[index];
      return decision === undefined ? [] : [{ decision, countWhen }];
    });
    return { fields, refusal: undefined, ended: atTheEnd(limiter, taken, warn) };
  }

  return {
    async decide(request) {
      try {
        return await decide(request);
      } catch (error) {
        if (!(error instanceof NoKey)) throw error;
        const detail = problem({ status: 400, title: 'Bad request', detail: error.message });
        return { fields: () => ({}), refusal: refusalOf<Name>(detail, {}), ended: undefined };
      }
    },
    of: (request) => infos.get(request),
  };
}
