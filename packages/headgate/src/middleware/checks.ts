import type { CheckOptions } from '../index.js';
import type { Seen } from './address.js';
import { checkCountWhen } from './options.js';
import { after, type Soon } from './soon.js';
import type { AskedCheck, CountWhen, Given, RateLimitOptions } from './types.js';

/** A check as the limiter takes it, and which outcomes keep what it takes. */
export interface Chosen<Name extends string, Plan extends string> {
  readonly rule: Name;
  readonly key: string;
  /** Undefined where there are none: they cost more to look through than the decision. */
  readonly options: CheckOptions<Plan> | undefined;
  readonly countWhen: CountWhen;
}

/** The request lacks what a rule counts by, or has something there that is no key. */
export class NoKey extends Error {
  constructor(what: string) {
    super(`this request has no key ${what}`);
  }
}

const given = <Value, Req>(value: Given<Value, Req>, request: Req): Soon<Value> =>
  typeof value === 'function' ? (value as (request: Req) => Soon<Value>)(request) : value;

/** What one after another has for a request: together, one that throws would leave the promise of another unheard. */
function allGiven<Values extends readonly unknown[], Req>(
  values: { readonly [Index in keyof Values]: Given<Values[Index], Req> },
  request: Req,
  found: readonly unknown[] = [],
): Soon<Values> {
  if (found.length === values.length) return found as Values;
  const value = given<unknown, Req>(values[found.length], request);
  return after(value, (there) => allGiven<Values, Req>(values, request, [...found, there]), undefined);
}

/**
 * Chooses the checks of a request: at once, where the user's functions answer at once.
 *
 * @param addressOf - asked only where a check counts by the client's address
 */
export function chooser<Name extends string, Plan extends string, Req>(
  options: RateLimitOptions<Name, Plan, Req>,
  addressOf: (request: Req, seen: Seen) => Soon<string>,
): (request: Req, seen: Seen) => Soon<readonly Chosen<Name, Plan>[]> {
  type Asked = readonly AskedCheck<Name, Plan>[];
  const { countWhen: byDefault = 'always' } = options;

  function chosenOf({ countWhen = byDefault, ...check }: AskedCheck<Name, Plan>, address: string | undefined): Chosen<Name, Plan> {
    checkCountWhen(countWhen);
    const { rule, key: own, ...rest } = check;
    const key = 'key' in check ? own : address;
    if (key === undefined || (key as unknown) === null || key === '') throw new NoKey(`for the rule ${JSON.stringify(rule)}`);
    return { rule, key, options: Object.keys(rest).length === 0 ? undefined : rest, countWhen };
  }

  function chooseAll(asked: Asked, { request, seen }: { request: Req; seen: Seen }): Soon<readonly Chosen<Name, Plan>[]> {
    const address = asked.every((check) => 'key' in check) ? undefined : addressOf(request, seen);
    return after<string | undefined, readonly Chosen<Name, Plan>[], Asked>(
      address,
      (found, checks) => checks.map((check) => chosenOf(check, found)),
      asked,
    );
  }

  if (options.checks !== undefined) {
    const { checks } = options;
    return (request, seen) => after(given(checks, request), chooseAll, { request, seen });
  }

  const { rule, key, cost, plan } = options;
  if (typeof rule === 'string' && !('key' in options) && cost === undefined && plan === undefined) {
    // What most ask for: one rule, by the client's address.
    const byAddress = (found: string) => [{ rule, key: found, options: undefined, countWhen: byDefault }];
    return (request, seen) => after(addressOf(request, seen), byAddress, undefined);
  }

  type Functions = readonly [plan: Plan | undefined, rule: Name, key: string | undefined, cost: number | undefined];

  function chooseOne([chosenPlan, chosenRule, chosenKey, chosenCost]: Functions, context: { request: Req; seen: Seen }) {
    const check = {
      rule: chosenRule,
      ...(key === undefined ? undefined : { key: chosenKey as string }),
      ...(cost === undefined ? undefined : { cost: chosenCost as number }),
      ...(chosenPlan === undefined ? undefined : { plan: chosenPlan }),
    };
    return chooseAll([check], context);
  }

  return (request, seen) => after(allGiven<Functions, Req>([plan, rule, key, cost], request), chooseOne, { request, seen });
}
