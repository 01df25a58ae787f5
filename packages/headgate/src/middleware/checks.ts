import type { CheckOptions } from '../index.js';
import { checkCountWhen } from './options.js';
import { after, afterAll, type Soon } from './soon.js';
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

/** Chooses the checks of a request: at once, where the user's functions answer at once. */
export function chooser<Name extends string, Plan extends string, Req>(
  options: RateLimitOptions<Name, Plan, Req>,
): (request: Req, address: () => Soon<string>) => Soon<readonly Chosen<Name, Plan>[]> {
  const { countWhen: byDefault = 'always' } = options;

  function chosen({ countWhen = byDefault, ...check }: AskedCheck<Name, Plan>, address: string | undefined): Chosen<Name, Plan> {
    checkCountWhen(countWhen);
    const { rule, key: own, ...rest } = check;
    const key = 'key' in check ? own : address;
    if (key === undefined || (key as unknown) === null || key === '') throw new NoKey(`for the rule ${JSON.stringify(rule)}`);
    return { rule, key, options: Object.keys(rest).length === 0 ? undefined : rest, countWhen };
  }

  /** The address is looked for only where a check counts by it. */
  const chooseAll = (asked: readonly AskedCheck<Name, Plan>[], address: () => Soon<string>): Soon<readonly Chosen<Name, Plan>[]> =>
    after(asked.every((check) => 'key' in check) ? undefined : address(), (found) => asked.map((check) => chosen(check, found)));

  if (options.checks !== undefined) {
    const { checks } = options;
    return (request, address) => after(given(checks, request), (asked) => chooseAll(asked, address));
  }

  const { rule, key, cost, plan } = options;
  if (typeof rule === 'string' && !('key' in options) && cost === undefined && plan === undefined) {
    // What most ask for: one rule, by the client's address.
    return (_request, address) => after(address(), (found) => [{ rule, key: found, options: undefined, countWhen: byDefault }]);
  }

  return (request, address) =>
    afterAll(
      [
        given<Name, Req>(rule, request),
        key === undefined ? undefined : given(key, request),
        cost === undefined ? undefined : given(cost, request),
        plan === undefined ? undefined : given<Plan | undefined, Req>(plan, request),
      ] as const,
      ([chosenRule, chosenKey, chosenCost, chosenPlan]) =>
        chooseAll(
          [
            {
              rule: chosenRule as Name,
              ...(key === undefined ? undefined : { key: chosenKey as string }),
              ...(cost === undefined ? undefined : { cost: chosenCost as number }),
              ...(chosenPlan === undefined ? undefined : { plan: chosenPlan as Plan }),
            },
          ],
          address,
        ),
    );
}
