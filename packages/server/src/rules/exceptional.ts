import { unlimited, type Limit, type RuleOptions } from 'headgate';
import type { RuleSet, ServiceRule } from './compile.js';
import { everyRule, holds, type Customer } from './customer.js';
import { strayWarnings } from './exceptions-stray.js';
import type { CustomerPlan, Exceptions } from './exceptions.js';
import { exemptionsByRule, isExempt, type ExemptionsByRule } from './exempting.js';
import { fitOverrides, readOverrides, type Limited, type StoredOverrides } from './overriding.js';
import { atOnce, type Sliced } from './slices.js';

export type { Customer } from './customer.js';

/** Rules with what differs from them for some. */
export interface Excepted {
  /** Its rules have plans of ours for overrides and exemptions. */
  readonly rules: RuleSet;
  /** The plan under which the library is to decide. */
  planOf(customer: Customer): string | undefined;
  /** Whether nothing differs for anybody: then `planOf` asks for no more than a rule, a key and a plan. */
  readonly isPlain: boolean;
  /** What is stored and cannot be used: each says which, and why. */
  readonly faults: readonly string[];
  /** What is allowed but may not be meant, in the rules and in what differs from them. */
  readonly warnings: readonly string[];
}

/** Begins the plans of ours. What a request tells may begin so too: it is taken for no plan, else a client could exempt himself. */
const ours = '\0';
const exempt = `${ours}exempt`;
const overrideOf = (customer: string): string => `${ours}override ${customer}`;

const nothing: Exceptions = { plans: [], overrides: [], exemptions: [], shadows: [] };

/** What differs, as it is looked up. */
interface Prepared {
  readonly of: Exceptions;
  readonly overrides: StoredOverrides;
  readonly exempted: ExemptionsByRule;
  readonly switches: ReadonlyMap<string, boolean>;
  readonly plans: ReadonlyMap<string, CustomerPlan>;
}

function* prepare(of: Exceptions, before: Prepared | undefined): Sliced<Prepared> {
  const overrides = yield* readOverrides(of.overrides, before?.overrides);
  const exempted = exemptionsByRule(of.exemptions);
  yield;
  const plans = new Map<string, CustomerPlan>();
  for (const plan of of.plans) {
    yield;
    plans.set(plan.customer, plan);
  }
  return { of, overrides, exempted, switches: new Map(of.shadows.map(({ rule, on }) => [rule, on])), plans };
}

/** What of a rule differs, and what it becomes by that. */
interface Applied {
  readonly own: ReadonlyMap<string, unknown> | undefined;
  readonly shadow: boolean | undefined;
  readonly isExempted: boolean;
  readonly rule: ServiceRule;
  readonly limits: ReadonlyMap<string, Limited> | undefined;
  readonly faults: readonly string[];
}

function* applyTo(rule: ServiceRule, { overrides, exempted, switches }: Prepared, before: Applied | undefined): Sliced<Applied> {
  const { name, options } = rule;
  const own = overrides.byRule.get(name);
  const shadow = switches.get(name) ?? switches.get(everyRule);
  const isExempted = exempted.has(name) || exempted.has(everyRule);
  if (before !== undefined && before.own === own && before.shadow === shadow && before.isExempted === isExempted) return before;
  const differs = { own, shadow, isExempted };
  if (own === undefined && shadow === undefined && !isExempted) return { ...differs, rule, limits: undefined, faults: [] };
  const { limits, faults } = yield* fitOverrides(rule, own ?? new Map());
  const plans: Record<string, Limit | undefined> = { ...options.plans };
  for (const [customer, { limit }] of limits) {
    yield;
    plans[overrideOf(customer)] = limit;
  }
  if (isExempted) plans[exempt] = unlimited();
  const changed: RuleOptions = { ...options, ...(shadow !== undefined && { shadow }), plans: Object.freeze(plans) };
  return { ...differs, rule: { ...rule, options: Object.freeze(changed) }, limits, faults };
}

/** Puts rules together with what differs from them, again for every change: what did not change is not made anew. Not twice at a time. */
export interface Excepting {
  /** An override or exemption is a plan of the rule that only we can name, so the library keeps the units used when it begins or ends. */
  apply(set: RuleSet, exceptions: Exceptions): Sliced<Excepted>;
}

/** @param nowMs - the time by which ends are reckoned, milliseconds since 1970 */
export function excepting(nowMs: () => number): Excepting {
  let prepared: Prepared | undefined;
  const applied = new WeakMap<ServiceRule, Applied>();

  function* apply(set: RuleSet, exceptions: Exceptions): Sliced<Excepted> {
    if (prepared?.of !== exceptions) prepared = yield* prepare(exceptions, prepared);
    const differing = prepared;
    const rules = new Map<string, ServiceRule>();
    const limits = new Map<string, ReadonlyMap<string, Limited>>();
    const options = Object.create(null) as Record<string, RuleOptions>;
    const faults: string[] = [];
    for (const [name, rule] of set.rules) {
      yield;
      const one = yield* applyTo(rule, differing, applied.get(rule));
      applied.set(rule, one);
      rules.set(name, one.rule);
      options[name] = one.rule.options;
      if (one.limits !== undefined && one.limits.size > 0) limits.set(name, one.limits);
      faults.push(...one.faults);
    }
    const stray = yield* strayWarnings(set, exceptions, nowMs());
    const { exempted, plans } = differing;

    function storedPlan({ key, names = [] }: Customer, now: number): string | undefined {
      for (const name of [key, ...names]) {
        const found = plans.get(name);
        if (found !== undefined && holds(found, now)) return found.plan;
      }
      return undefined;
    }

    const isPlain = exempted.size === 0 && limits.size === 0 && plans.size === 0;
    return {
      rules: { ...set, rules, options },
      faults,
      warnings: [...set.warnings, ...stray],
      isPlain,
      planOf(customer) {
        const told = customer.plan?.startsWith(ours) === true ? undefined : customer.plan;
        if (isPlain) return told;
        const now = nowMs();
        if (exempted.size > 0 && isExempt(set, exempted, { customer, now })) return exempt;
        const override = limits.get(customer.rule)?.get(customer.key);
        if (override !== undefined && holds(override, now)) return overrideOf(customer.key);
        return told ?? storedPlan(customer, now);
      },
    };
  }

  return { apply };
}

/** Rules with what differs from them, once and at once. */
export const withExceptions = (set: RuleSet, exceptions: Exceptions, nowMs: () => number): Excepted =>
  atOnce(excepting(nowMs).apply(set, exceptions));

/** Rules of which nothing differs for anybody: those of a file. */
export const withoutExceptions = (set: RuleSet): Excepted => withExceptions(set, nothing, () => 0);
