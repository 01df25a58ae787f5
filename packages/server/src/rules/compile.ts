import type { Limit, RuleOptions } from 'headgate';
import { trustProxies, type Trust } from 'headgate/http';
import { compileRule, field, isRecord, make, textOf, type CompiledRule, type Findings, type ServiceRule } from './compile-rule.js';
import { RulesError, type Fault, type Places } from './faults.js';
import { compileSources, type SourcePart } from './identify.js';
import { crowdFaults } from './match-crowd.js';
import { buildMatcher, type Matcher } from './matcher.js';
import { frameSchema, identifySchema, trustSchema, type Identify } from './schema.js';
import type { Sliced } from './slices.js';

export { limitOf, type ServiceRule } from './compile-rule.js';

/** Everything a rules source says, compiled. */
export interface RuleSet {
  readonly rules: ReadonlyMap<string, ServiceRule>;
  /** The same rules with what they were made of. */
  readonly compiled: ReadonlyMap<string, CompiledRule>;
  /** What the library takes. */
  readonly options: Readonly<Record<string, RuleOptions>>;
  readonly trust: Trust;
  /** Bits of an IPv6 address that tell clients apart. */
  readonly ipv6Prefix: number;
  readonly sources: {
    readonly apiKey: readonly SourcePart[];
    readonly account: readonly SourcePart[];
    readonly plan: readonly SourcePart[];
  };
  /** Finds the rules with a match that a request is for. */
  readonly matcher: Matcher<ServiceRule>;
  /** Things that are allowed but may not be meant. */
  readonly warnings: readonly string[];
}

/** The limit in force for a plan. */
export function limitInForce(set: RuleSet, name: string, plan: string | undefined): Limit | undefined {
  const options = set.rules.get(name)?.options;
  const plans = options?.plans;
  return (plan !== undefined && plans !== undefined && Object.hasOwn(plans, plan) ? plans[plan] : undefined) ?? options?.limit;
}

const isEmpty = (value: unknown): boolean => value === undefined || value === 0 || (Array.isArray(value) && value.length === 0);

/** Plans that no request could have: their rules would never apply, and nobody would notice. */
function planFaults(file: unknown, places: Places): Fault[] {
  const identify = field(file, 'identify');
  const rules = field(file, 'rules');
  if (!isEmpty(field(identify, 'plan'))) {
    const mend =
      'a plan is believed of peers in trustProxies only, which names nobody; write the address of the gateway that sets the field';
    return isEmpty(field(identify, 'trustProxies')) ? [places.fault(['identify', 'plan'], `identify.plan: ${mend}`)] : [];
  }
  const mend = 'no request has a plan; name the field by which the gateway tells it, as identify: { plan: [header:x-plan] }';
  return (Array.isArray(rules) ? (rules as unknown[]) : []).flatMap((rule, index) =>
    field(field(rule, 'match'), 'plan') === undefined ? [] : [places.fault(['rules', index, 'match', 'plan'], `match.plan: ${mend}`)],
  );
}

/** The rules of a file, each with a name of its own; those that are known need not be made again. */
function* compileEach(entries: readonly unknown[], known: KnownRules, findings: Findings): Sliced<Map<string, CompiledRule>> {
  const compiled = new Map<string, CompiledRule>();
  const places = new Map<unknown, number>();
  for (const [index, raw] of entries.entries()) {
    yield;
    const name = field(raw, 'name');
    const before = places.get(name);
    if (before !== undefined && name !== undefined) {
      findings.faults.push(
        findings.places.fault(['rules', index, 'name'], `rule number ${before + 1} has the same name; names are unique`),
      );
    } else if (isRecord(raw)) places.set(name, index);
    const there = typeof name === 'string' ? known.get(name) : undefined;
    const one = there?.text !== undefined && there.text === textOf(raw) ? there : compileRule(raw, index, findings);
    if (one !== undefined) compiled.set(one.rule.name, one);
  }
  return compiled;
}

/** Rules that were compiled before, by their names. */
export type KnownRules = ReadonlyMap<string, CompiledRule>;

const noneKnown: KnownRules = new Map();

/**
 * All that a file says, but for finding rules: enough to know that it has no faults.
 *
 * @throws RulesError with every fault: the schema's of the whole file, and for each part that is well formed by itself also those that only
 * show when it is made
 */
export function* compileParts(file: unknown, places: Places, known: KnownRules = noneKnown): Sliced<Omit<RuleSet, 'matcher'>> {
  const parsed = frameSchema.safeParse(file, { reportInput: true });
  const faults: Fault[] = parsed.success ? [] : places.faultsOf(parsed.error.issues);
  const findings = { places, faults };
  const entries = field(file, 'rules');
  const compiled = yield* compileEach(Array.isArray(entries) ? (entries as unknown[]) : [], known, findings);
  const given = { value: field(file, 'identify'), schema: identifySchema, path: ['identify'] };
  const identify: Identify = make(given, (value) => value, findings) ?? {};
  const trusted = { value: field(field(file, 'identify'), 'trustProxies') ?? [], schema: trustSchema, path: ['identify', 'trustProxies'] };
  const trust = make(trusted, trustProxies, findings);
  faults.push(...planFaults(file, places));
  if (faults.length === 0)
    faults.push(
      ...(yield* crowdFaults(
        [...compiled.values()].map(({ rule }) => rule),
        places,
      )),
    );
  if (faults.length > 0 || trust === undefined) throw new RulesError(faults.sort((a, b) => a.line - b.line));
  const rules = new Map<string, ServiceRule>();
  const warnings: string[] = [];
  const options = Object.create(null) as Record<string, RuleOptions>;
  for (const [name, one] of compiled) {
    yield;
    rules.set(name, one.rule);
    warnings.push(...one.warnings);
    // Without a prototype, so that `__proto__` is a name like any other.
    options[name] = one.rule.options;
  }
  const { apiKey = ['header:x-api-key', 'bearer'], account = ['header:x-account'], plan = [] } = identify;
  return {
    rules,
    compiled,
    options,
    trust,
    ipv6Prefix: identify.ipv6Prefix ?? 64,
    sources: { apiKey: compileSources(apiKey), account: compileSources(account), plan: compileSources(plan) },
    warnings,
  };
}

/** All that a file says, ready for use. @throws RulesError as `compileParts` */
export function* compile(file: unknown, places: Places, known?: KnownRules): Sliced<RuleSet> {
  const parts = yield* compileParts(file, places, known);
  return { ...parts, matcher: yield* buildMatcher(parts.rules.values()) };
}
