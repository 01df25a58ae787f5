import type { RuleSet } from './compile.js';
import { holds } from './customer.js';
import type { Exceptions } from './exceptions.js';
import type { Sliced } from './slices.js';

/** Names told one by one; a mistake in a script may make thousands. */
const mostTold = 20;

/** Whether any rule has limits for a plan: without them it changes nothing. */
export function isPlanKnown({ options }: Pick<RuleSet, 'options'>, plan: string): boolean {
  for (const name in options) {
    const plans = options[name]?.plans;
    if (plans !== undefined && Object.hasOwn(plans, plan)) return true;
  }
  return false;
}

/** What is told of a plan that no rule has limits for. */
export const strayPlan = (plan: string): string =>
  `no rule has limits for the plan ${JSON.stringify(plan)} (under "plans"): customers who have it get each rule's own limit`;

/** What is told of an override of a rule that is not there. */
export const strayOverride = (rule: string): string =>
  `there is no rule ${JSON.stringify(rule)}: overrides of it have no effect until there is one`;

const told = (names: Iterable<string>, tell: (name: string) => string, more: string): string[] => {
  const sorted = [...names].sort();
  return [...sorted.slice(0, mostTold).map(tell), ...(sorted.length > mostTold ? [more] : [])];
};

/** What is stored for customers and changes nothing, as the rules have no such name. */
export function* strayWarnings(set: RuleSet, { plans, overrides }: Exceptions, now: number): Sliced<string[]> {
  const planNames = new Set<string>();
  const ruleNames = new Set<string>();
  for (const plan of plans) {
    yield;
    if (holds(plan, now)) planNames.add(plan.plan);
  }
  for (const override of overrides) {
    yield;
    if (!set.rules.has(override.rule) && holds(override, now)) ruleNames.add(override.rule);
  }
  if (planNames.size > 0) {
    for (const { options } of set.rules.values()) {
      yield;
      if (options.plans !== undefined) for (const plan of Object.keys(options.plans)) planNames.delete(plan);
    }
  }
  return [
    ...told(planNames, strayPlan, 'further plans are stored for customers that no rule has limits for'),
    ...told(ruleNames, strayOverride, 'further overrides are stored of rules that are not there'),
  ];
}
