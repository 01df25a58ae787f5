import { unlimited, type Limit, type RuleOptions } from 'headgate';
import { trustProxies, trustsPeer, type Trust } from 'headgate/http';
import { limitOf, type RuleSet, type ServiceRule } from './compile.js';
import type { Exceptions, Exemption, Override } from './exceptions.js';

/** Who is asked about: a rule's key, the plan that the request brings, and other names the customer goes by. */
export interface Customer {
  readonly rule: string;
  readonly key: string;
  /** As the request says it; goes before the one that is stored. */
  readonly plan?: string | undefined;
  /** Where the plan is looked up too, if it is not by the key: an account, an API key. */
  readonly names?: readonly string[];
  /** The client's address, for exemptions; where it is not known, the key is taken for one if it is one. */
  readonly address?: string | undefined;
}

/** Rules with what differs from them for some. */
export interface Excepted {
  /** Its rules have plans of ours for overrides and exemptions. */
  readonly rules: RuleSet;
  /** The plan under which the library is to decide. */
  planOf(customer: Customer): string | undefined;
  /** What is stored and cannot be used: each says which, and why. */
  readonly faults: readonly string[];
}

/** Begins the plans of ours. No request and no rule can name one: plans of theirs have no such character. */
const ours = '\0';
const exempt = `${ours}exempt`;
const overrideOf = (customer: string): string => `${ours}override ${customer}`;

/** Stands for all rules. */
const everyRule = '*';

const nothing: Exceptions = { plans: [], overrides: [], exemptions: [], shadows: [] };

interface Ending {
  readonly until: number | null;
}

const holds = ({ until }: Ending, now: number): boolean => until === null || until > now;

/** Addresses that are exempt until the same time. */
interface Addresses extends Ending {
  readonly addresses: Trust;
}

interface RuleExemptions {
  readonly keys: Map<string, Ending>;
  readonly addresses: Addresses[];
}

function exemptionsByRule(exemptions: readonly Exemption[]): Map<string, RuleExemptions> {
  const byRule = new Map<string, RuleExemptions>();
  const cidrs = new Map<string, { rule: string; until: number | null; subjects: string[] }>();
  const ofRule = (rule: string): RuleExemptions => {
    const known = byRule.get(rule) ?? { keys: new Map(), addresses: [] };
    byRule.set(rule, known);
    return known;
  };
  for (const { rule, kind, subject, until } of exemptions) {
    if (kind === 'key') ofRule(rule).keys.set(subject, { until });
    else {
      const name = `${until} ${rule}`;
      const together = cidrs.get(name) ?? { rule, until, subjects: [] };
      together.subjects.push(subject);
      cidrs.set(name, together);
    }
  }
  for (const { rule, until, subjects } of cidrs.values()) ofRule(rule).addresses.push({ until, addresses: trustProxies(subjects) });
  return byRule;
}

/** Overrides by rule and customer, each with its limit; what cannot be used is told. */
function overridesByRule(
  overrides: readonly Override[],
  rules: RuleSet,
  faults: string[],
): Map<string, Map<string, Ending & { limit: Limit }>> {
  const byRule = new Map<string, Map<string, Ending & { limit: Limit }>>();
  for (const { rule, customer, limit, until } of overrides) {
    if (!rules.rules.has(rule)) continue;
    try {
      const ofRule = byRule.get(rule) ?? new Map<string, Ending & { limit: Limit }>();
      ofRule.set(customer, { until, limit: limitOf(limit) });
      byRule.set(rule, ofRule);
    } catch (error) {
      faults.push(`an override of rule ${JSON.stringify(rule)} cannot be used: ${(error as Error).message}`);
    }
  }
  return byRule;
}

/**
 * Rules with plans, overrides, exemptions and switches applied. An override or exemption is a plan of the rule that only we can name, so the
 * library keeps the units used when it begins or ends.
 *
 * @param nowMs - the time by which ends are reckoned, milliseconds since 1970
 */
export function withExceptions(set: RuleSet, { plans, overrides, exemptions, shadows }: Exceptions, nowMs: () => number): Excepted {
  const faults: string[] = [];
  const limits = overridesByRule(overrides, set, faults);
  const exempted = exemptionsByRule(exemptions);
  const switches = new Map(shadows.map(({ rule, on }) => [rule, on]));
  const stored = new Map(plans.map((plan) => [plan.customer, plan]));

  function optionsOf({ name, options }: ServiceRule): RuleOptions {
    const shadow = switches.get(name) ?? switches.get(everyRule);
    const own = limits.get(name);
    const isExempted = exempted.has(name) || exempted.has(everyRule);
    if (shadow === undefined && own === undefined && !isExempted) return options;
    const ownPlans = [...(own ?? [])].map(([customer, { limit }]) => [overrideOf(customer), limit] as const);
    return {
      ...options,
      ...(shadow !== undefined && { shadow }),
      plans: { ...options.plans, ...Object.fromEntries(ownPlans), ...(isExempted && { [exempt]: unlimited() }) },
    };
  }

  function isExempt({ rule, key, address = key }: Customer, now: number): boolean {
    for (const name of [rule, everyRule]) {
      const of = exempted.get(name);
      if (of === undefined) continue;
      const byKey = of.keys.get(key);
      if (byKey !== undefined && holds(byKey, now)) return true;
      if (of.addresses.some((group) => holds(group, now) && trustsPeer(group.addresses, address))) return true;
    }
    return false;
  }

  function storedPlan({ key, names = [] }: Customer, now: number): string | undefined {
    for (const name of [key, ...names]) {
      const found = stored.get(name);
      if (found !== undefined && holds(found, now)) return found.plan;
    }
    return undefined;
  }

  const rules = new Map([...set.rules].map(([name, rule]) => [name, { ...rule, options: optionsOf(rule) }]));
  const isPlain = exempted.size === 0 && limits.size === 0 && stored.size === 0;
  return {
    rules: { ...set, rules, options: Object.fromEntries([...rules].map(([name, { options }]) => [name, options])) },
    faults,
    planOf(customer) {
      if (isPlain) return customer.plan;
      const now = nowMs();
      if (exempted.size > 0 && isExempt(customer, now)) return exempt;
      const override = limits.get(customer.rule)?.get(customer.key);
      if (override !== undefined && holds(override, now)) return overrideOf(customer.key);
      return customer.plan ?? storedPlan(customer, now);
    },
  };
}

/** Rules of which nothing differs for anybody: those of a file. */
export const withoutExceptions = (set: RuleSet): Excepted => withExceptions(set, nothing, () => 0);
