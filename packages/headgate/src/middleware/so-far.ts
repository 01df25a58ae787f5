import type { Answered } from '../http/index.js';
import { limitOf, type Decision } from '../index.js';
import type { Telling } from './options.js';
import type { RateLimitInfo } from './types.js';

/** What one middleware has decided about a request, and what others decided before. */
interface SoFar {
  /** The middleware. */
  readonly by: object;
  readonly info: RateLimitInfo;
  readonly telling: Telling;
  readonly before: SoFar | undefined;
}

/** On the request itself: a WeakMap of all requests costs more than deciding, and the garbage collector again as much. */
const soFar = Symbol('headgate');

type Marked = { [soFar]?: SoFar };

/** Keeps what a middleware decided about a request. */
export function remember(request: object, { by, info, telling }: Omit<SoFar, 'before'>): void {
  (request as Marked)[soFar] = { by, info, telling, before: (request as Marked)[soFar] };
}

/** What a middleware decided about a request last; undefined if nothing. */
export function infoBy(request: object, by: object): RateLimitInfo | undefined {
  let entry = (request as Marked)[soFar];
  while (entry !== undefined && entry.by !== by) entry = entry.before;
  return entry?.info;
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

/** What was answered about a request by then: several middlewares of one request fill the same fields. */
export const answeredBy = (request: object): readonly Answered[] => answersOf((request as Marked)[soFar]);

function answersOf(entry: SoFar | undefined): readonly Answered[] {
  if (entry === undefined) return [];
  const { info, telling, before } = entry;
  const own = info.decisions.map((decision) => answeredOf(decision, telling));
  return before === undefined ? own : [...answersOf(before), ...own];
}
