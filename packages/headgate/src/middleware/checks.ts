import type { CheckRequest } from '../index.js';
import { checkCountWhen } from './options.js';
import type { AskedCheck, CountWhen, Given, RateLimitOptions } from './types.js';

/** A check as the limiter takes it, and which outcomes keep what it takes. */
export interface Chosen<Name extends string> {
  readonly check: CheckRequest<Name>;
  readonly countWhen: CountWhen;
}

/** The request lacks what a rule counts by, or has something there that is no key. */
export class NoKey extends Error {
  constructor(what: string) {
    super(`this request has no key ${what}`);
  }
}

const given = <Value, Req>(value: Given<Value, Req>, request: Req): Value | Promise<Value> =>
  typeof value === 'function' ? (value as (request: Req) => Value | Promise<Value>)(request) : value;

/** Chooses the checks of a request. */
export function chooser<Name extends string, Plan extends string, Req>(
  options: RateLimitOptions<Name, Plan, Req>,
): (request: Req, address: () => Promise<string>) => Promise<Chosen<Name>[]> {
  const { countWhen: byDefault = 'always' } = options;

  async function asked(request: Req): Promise<readonly AskedCheck<Name, Plan>[]> {
    if (options.checks !== undefined) return given(options.checks, request);
    const { rule, key, cost, plan } = options;
    const chosenPlan = plan === undefined ? undefined : await given<Plan | undefined, Req>(plan, request);
    return [
      {
        rule: await given<Name, Req>(rule, request),
        ...(key === undefined ? undefined : { key: await given(key, request) }),
        ...(cost === undefined ? undefined : { cost: await given(cost, request) }),
        ...(chosenPlan === undefined ? undefined : { plan: chosenPlan }),
      },
    ];
  }

  const { rule } = options;
  if (typeof rule === 'string' && !('key' in options) && options.cost === undefined && options.plan === undefined) {
    // What most ask for: one rule, by the client's address.
    return async (_request, address) => [{ check: { rule, key: await address() }, countWhen: byDefault }];
  }

  return async (request, address) => {
    const chosen: Chosen<Name>[] = [];
    for (const { countWhen = byDefault, ...check } of await asked(request)) {
      checkCountWhen(countWhen);
      const key: unknown = 'key' in check ? check.key : await address();
      if (key === undefined || key === null || key === '') throw new NoKey(`for the rule ${JSON.stringify(check.rule)}`);
      chosen.push({ check: { ...check, key: key as string }, countWhen });
    }
    return chosen;
  };
}
