import { createLimiter, type Limit } from 'headgate';
import { limitOf, type ServiceRule } from './compile.js';
import { textOf } from './compile-rule.js';
import type { Ending } from './customer.js';
import type { Override } from './exceptions.js';
import type { Sliced } from './slices.js';

/** A limit, or why what is stored is none. */
type Read = { readonly limit: Limit } | { readonly problem: string };

export type Stored = Ending & { readonly read: Read };
export type Limited = Ending & { readonly limit: Limit };

/** What is stored, by rule and customer. */
export interface StoredOverrides {
  readonly byRule: ReadonlyMap<string, ReadonlyMap<string, Stored>>;
  /** Limits by what is written of them: many customers have the same. */
  readonly limits: ReadonlyMap<string, Read>;
}

function readLimit(written: unknown): Read {
  try {
    return { limit: limitOf(written) };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

const isSame = (a: ReadonlyMap<string, Stored>, b: ReadonlyMap<string, Stored>): boolean =>
  a.size === b.size && [...a].every(([customer, { read, until }]) => b.get(customer)?.read === read && b.get(customer)?.until === until);

/** Reads overrides; those of a rule that are what they were `before` are the same map. */
export function* readOverrides(overrides: readonly Override[], before?: StoredOverrides): Sliced<StoredOverrides> {
  const limits = new Map<string, Read>();
  const byRule = new Map<string, Map<string, Stored>>();
  for (const { rule, customer, limit: written, until } of overrides) {
    yield;
    const text = textOf(written) ?? '';
    const read = limits.get(text) ?? before?.limits.get(text) ?? readLimit(written);
    limits.set(text, read);
    const ofRule = byRule.get(rule) ?? new Map<string, Stored>();
    byRule.set(rule, ofRule);
    ofRule.set(customer, { until, read });
  }
  const kept = new Map<string, ReadonlyMap<string, Stored>>();
  for (const [rule, ofRule] of byRule) {
    yield;
    const old = before?.byRule.get(rule);
    kept.set(rule, old !== undefined && isSame(old, ofRule) ? old : ofRule);
  }
  return { byRule: kept, limits };
}

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

function problemOf(rule: ServiceRule, limit: Limit): string | undefined {
  try {
    assertFits(rule, limit);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The overrides of a rule that it can have; what it cannot is told. */
export function* fitOverrides(
  rule: ServiceRule,
  stored: ReadonlyMap<string, Stored>,
): Sliced<{ readonly limits: ReadonlyMap<string, Limited>; readonly faults: readonly string[] }> {
  const limits = new Map<string, Limited>();
  const faults = new Set<string>();
  // There may be 100,000: whether a limit fits depends on its kind, and only under sync on its window.
  const known = new Map<string, string | undefined>();
  for (const [customer, { until, read }] of stored) {
    yield;
    let problem: string | undefined;
    if ('problem' in read) problem = read.problem;
    else {
      const alike = typeof rule.options.mode === 'object' ? JSON.stringify(read.limit) : read.limit.kind;
      if (!known.has(alike)) known.set(alike, problemOf(rule, read.limit));
      problem = known.get(alike);
      if (problem === undefined) limits.set(customer, { until, limit: read.limit });
    }
    if (problem !== undefined) faults.add(`an override of rule ${JSON.stringify(rule.name)} cannot be used: ${problem}`);
  }
  return { limits, faults: [...faults] };
}
