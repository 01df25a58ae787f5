import { createLimiter, unlimited, type Limit, type RuleOptions } from 'headgate';
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
  /** The client's address, for exemptions; where it is not known, the key of a rule that counts by addresses is. */
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

/** Begins the plans of ours. What a request tells may begin so too: it is taken for no plan, else a client could exempt himself. */
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

type Limited = Ending & { readonly limit: Limit };

/**
 * Whether the rule can have this limit as a plan. It could when the override was set, but the rule may have changed since; one that is wrong must
 * not keep all rules out of force.
 *
 * @throws Error that tells why not
 */
function assertFits({ name, match, options }: ServiceRule, limit: Limit): void {
  if (match !== undefined && limit.kind === 'consecutiveFailures')
    throw new Error('consecutiveFailures is for rules without "match": the gate gives no id by which a success could be told');
  createLimiter({ rules: { [name]: { ...options, plans: { override: limit } } } });
}

/** Overrides by rule and customer, each with its limit; what cannot be used is told. */
function overridesByRule(overrides: readonly Override[], rules: RuleSet, faults: string[]): Map<string, Map<string, Limited>> {
  const byRule = new Map<string, Map<string, Limited>>();
  // There may be 100,000 overrides: whether a limit fits depends on its kind, and only under sync on its window.
  const fitting = new Set<string>();
  for (const { rule, customer, limit: written, until } of overrides) {
    const of = rules.rules.get(rule);
    if (of === undefined) continue;
    try {
      const limit = limitOf(written);
      const alike = `${typeof of.options.mode === 'object' ? JSON.stringify(limit) : limit.kind} ${rule}`;
      if (!fitting.has(alike)) assertFits(of, limit);
      fitting.add(alike);
      const ofRule = byRule.get(rule) ?? new Map<string, Limited>();
      ofRule.set(customer, { until, limit });
      byRule.set(rule, ofRule);
    } catch (error) {
      faults.push(`an override of rule ${JSON.stringify(rule)} cannot be used: ${(error as Error).message}`);
    }
  }
  return byRule;
}

/** The first and last address of an IPv6 key, which is the /64 of a client; else the text itself. */
function addressesOf(key: string): readonly string[] {
  const [, network] = /^([0-9a-f:]*)::\/64$/.exec(key) ?? [];
  if (network === undefined) return [key];
  const groups = network === '' ? [] : network.split(':');
  const zeros = Array.from({ length: Math.max(0, 4 - groups.length) }, () => '0');
  return [`${network}::`, [...groups, ...zeros, 'ffff', 'ffff', 'ffff', 'ffff'].join(':')];
}

/** Whether a rule's keys are addresses: of others a client may choose the text, and could choose an address that is exempt. */
const countsAddresses = ({ key }: ServiceRule): boolean => key.length === 0 || (key.length === 1 && key[0]?.from === 'ip');

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

  function addressesFor({ rule, key, address }: Customer): readonly string[] {
    if (address !== undefined) return [address];
    const of = set.rules.get(rule);
    return of !== undefined && countsAddresses(of) ? addressesOf(key) : [];
  }

  function isExempt(customer: Customer, now: number): boolean {
    const { rule, key } = customer;
    for (const name of [rule, everyRule]) {
      const of = exempted.get(name);
      if (of === undefined) continue;
      const byKey = of.keys.get(key);
      if (byKey !== undefined && holds(byKey, now)) return true;
      if (of.addresses.length === 0) continue;
      const found = addressesFor(customer);
      const includes = ({ addresses, ...ending }: Addresses): boolean =>
        holds(ending, now) && found.length > 0 && found.every((address) => trustsPeer(addresses, address));
      if (of.addresses.some(includes)) return true;
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
      const told = customer.plan?.startsWith(ours) === true ? undefined : customer.plan;
      if (isPlain) return told;
      const now = nowMs();
      if (exempted.size > 0 && isExempt(customer, now)) return exempt;
      const override = limits.get(customer.rule)?.get(customer.key);
      if (override !== undefined && holds(override, now)) return overrideOf(customer.key);
      return told ?? storedPlan(customer, now);
    },
  };
}

/** Rules of which nothing differs for anybody: those of a file. */
export const withoutExceptions = (set: RuleSet): Excepted => withExceptions(set, nothing, () => 0);
