import type { Decision } from './decision.js';
import type { CheckOptions, Limiter } from './limiter-types.js';

/** What is there now, or will be. */
export type Soon<T> = T | PromiseLike<T>;

/** What `check` answers, without a promise where it is known at once. Throws where `check` rejects before any store is asked. */
export type CheckAtOnce<Name extends string = string> = (rule: Name, key: string, options?: CheckOptions) => Soon<Decision<Name>>;

/** By a limiter's `check`. */
const known = new WeakMap<object, unknown>();

/** Says how a limiter's `check` is asked without a promise. */
export function keepAtOnce<Name extends string>(check: Limiter<Name>['check'], atOnce: CheckAtOnce<Name>): void {
  known.set(check, atOnce);
}

/**
 * A limiter's check without a promise, for middlewares: no name of the limiter's own, as a verb that sometimes answers a promise is nothing to
 * hand to people. Who puts another `check` into a limiter, such as a test's spy, is asked by that one.
 */
export function checkAtOnce<Name extends string>(limiter: Pick<Limiter<Name>, 'check'>): CheckAtOnce<Name> {
  const own = limiter.check;
  const atOnce = known.get(own) as CheckAtOnce<Name> | undefined;
  return (rule, key, options) => {
    if (atOnce !== undefined && limiter.check === own) return atOnce(rule, key, options);
    return options === undefined ? limiter.check(rule, key) : limiter.check(rule, key, options);
  };
}
