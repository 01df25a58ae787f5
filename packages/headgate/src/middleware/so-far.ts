import { inputError, show } from '../errors.js';
import type { Answered } from '../http/index.js';
import { limitOf, type Decision, type GroupDecision, type Limiter } from '../index.js';
import type { Telling } from './options.js';
import type { RateLimitInfo } from './types.js';

/** The middleware that decided. */
interface Decider {
  readonly limiter: Limiter;
  readonly telling: Telling;
}

/** On the request itself: a WeakMap of all requests costs more than deciding, and the garbage collector again as much. */
const latest = Symbol('headgate');

type Marked = { [latest]?: Info };

/** What was decided about a request, and, for header fields, what other middlewares had decided before. */
export class Info implements RateLimitInfo {
  readonly decision: Decision;
  readonly decisions: readonly Decision[];
  readonly #by: Decider;
  readonly #before: Info | undefined;

  /** Keeps itself on the request. */
  constructor(request: object, answer: Decision | GroupDecision, by: Decider) {
    this.decision = answer;
    this.decisions = 'decisions' in answer ? answer.decisions : [answer];
    this.#by = by;
    this.#before = (request as Marked)[latest];
    (request as Marked)[latest] = this;
  }

  /** Made when it is asked for, so that it works when it is taken out, too: one for each request costs as much as all of the decision. */
  get settle(): RateLimitInfo['settle'] {
    return async (rule, actual) => {
      const decision = this.decisions.find((one) => one.rule === rule);
      if (decision !== undefined) return this.#by.limiter.settle(decision, actual);
      const known = this.decisions.map((one) => show(one.rule)).join(', ');
      throw inputError('HEADGATE_BAD_CALL', `settle: this request was checked under ${known}; got ${show(rule)}`);
    };
  }

  /** What a middleware decided about a request last; undefined if nothing. */
  static of(request: object, by: Decider): Info | undefined {
    let info = (request as Marked)[latest];
    while (info !== undefined && info.#by !== by) info = info.#before;
    return info;
  }

  /** What was answered about a request by then: several middlewares of one request fill the same fields. */
  static answersOf(request: object): readonly Answered[] {
    const info = (request as Marked)[latest];
    return info === undefined ? [] : info.#answers();
  }

  #answers(): readonly Answered[] {
    const own = this.decisions.map((decision) => answeredOf(decision, this.#by.telling));
    return this.#before === undefined ? own : [...this.#before.#answers(), ...own];
  }
}

function answeredOf(decision: Decision, { partitionKeyOf, quotaUnits }: Telling): Answered {
  const quotaUnit = quotaUnits[decision.rule];
  const limit = limitOf(decision);
  if (partitionKeyOf === undefined && quotaUnit === undefined) return { decision, limit };
  return {
    decision,
    limit,
    ...(partitionKeyOf === undefined ? undefined : { partitionKey: partitionKeyOf(decision.key) }),
    ...(quotaUnit === undefined ? undefined : { quotaUnit }),
  };
}
