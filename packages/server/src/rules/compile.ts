import {
  concurrency,
  consecutiveFailures,
  createLimiter,
  fixedWindow,
  quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
  unlimited,
  type Limit,
  type RuleOptions,
} from 'headgate';
import { trustProxies, type Trust } from 'headgate/http';
import type { z } from 'zod';
import { RulesError, type Fault, type Places } from './faults.js';
import { compileKey, compileSources, type KeyPart, type SourcePart } from './identify.js';
import { compileMatch, type Match } from './match.js';
import { matchSchema } from './match-schema.js';
import { createMatcher, type Matcher } from './matcher.js';
import { identifySchema, keySchema, limitSchema, rulesFileSchema, trustSchema, type Identify, type LimitEntry } from './schema.js';

/** A rule as the service uses it. */
export interface ServiceRule {
  readonly name: string;
  readonly match: Match | undefined;
  readonly key: readonly KeyPart[];
  readonly missingKey: 'refuse' | 'skip';
  readonly options: RuleOptions;
}

/** Everything a rules source says, compiled. */
export interface RuleSet {
  readonly rules: ReadonlyMap<string, ServiceRule>;
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

const makers: Record<string, (options: never) => Limit> = {
  tokenBucket,
  fixedWindow,
  slidingWindow,
  slidingLog,
  quota,
  concurrency,
  consecutiveFailures,
  unlimited: () => unlimited(),
};

function makeLimit(entry: LimitEntry): Limit {
  const [[kind, options]] = Object.entries(entry).filter(([, value]) => value !== undefined) as [[string, never]];
  const maker = makers[kind];
  if (maker === undefined) throw new Error(`no such limit: ${kind}`);
  return maker(options);
}

/**
 * A limit as a rules file says it.
 *
 * @throws Error that tells what is wrong
 */
export function limitOf(value: unknown): Limit {
  const parsed = limitSchema.safeParse(value);
  if (!parsed.success) throw new Error(parsed.error.issues.map(({ path, message }) => [...path, message].join(': ')).join('; '));
  return makeLimit(parsed.data);
}

/** The limit in force for a plan. */
export function limitInForce(set: RuleSet, name: string, plan: string | undefined): Limit | undefined {
  const options = set.rules.get(name)?.options;
  const plans = options?.plans;
  return (plan !== undefined && plans !== undefined && Object.hasOwn(plans, plan) ? plans[plan] : undefined) ?? options?.limit;
}

type Path = readonly PropertyKey[];

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Own fields only: a value may be anything that a file can say. */
const field = (value: unknown, name: string): unknown => (isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined);

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

/**
 * Compiles what a file says, collecting every fault: the schema's of the whole file, and for each part that is well formed by itself
 * also those that only show when it is made.
 *
 * @throws RulesError with all of them
 */
export function compileRules(file: unknown, places: Places): RuleSet {
  const parsed = rulesFileSchema.safeParse(file, { reportInput: true });
  const faults: Fault[] = parsed.success ? [] : places.faultsOf(parsed.error.issues);
  const warnings: string[] = [];

  /** Makes a part, if it is there and well formed. A malformed one is a fault already, by the schema of the whole file. */
  function make<S extends z.ZodType, T>(
    { value, schema, path }: { value: unknown; schema: S; path: Path },
    maker: (input: z.infer<S>) => T,
  ): T | undefined {
    const part = schema.safeParse(value);
    if (value === undefined || !part.success) return undefined;
    try {
      return maker(part.data);
    } catch (error) {
      faults.push(places.fault(path, (error as Error).message));
      return undefined;
    }
  }

  function compileOptions(raw: Record<string, unknown>, at: (...path: string[]) => Path): RuleOptions | undefined {
    const limit = make({ value: raw['limit'], schema: limitSchema, path: at('limit') }, makeLimit);
    const rawPlans = isRecord(raw['plans']) ? Object.entries(raw['plans']) : [];
    const plans = rawPlans.map(
      ([plan, value]) => [plan, make({ value, schema: limitSchema, path: at('plans', plan) }, makeLimit)] as const,
    );
    if (limit === undefined || plans.some(([, value]) => value === undefined)) return undefined;
    const options: Record<string, unknown> = { limit };
    for (const name of ['mode', 'whenUnavailable', 'shadow', 'countRefused']) {
      const value = field(raw, name);
      if (value !== undefined) options[name] = value;
    }
    if (plans.length > 0) options['plans'] = Object.fromEntries(plans);
    return options as unknown as RuleOptions;
  }

  function compileRule(raw: Record<string, unknown>, index: number): ServiceRule | undefined {
    const at = (...path: string[]): Path => ['rules', index, ...path];
    const name = String(raw['name']);
    const options = compileOptions(raw, at);
    const match = make({ value: raw['match'], schema: matchSchema, path: at('match', 'path') }, compileMatch);
    const key = raw['key'] === undefined ? [] : make({ value: raw['key'], schema: keySchema, path: at('key') }, compileKey);
    if (raw['match'] !== undefined && raw['key'] === undefined) {
      faults.push(
        places.fault(at(), 'a rule with "match" needs a "key": whose budget a request takes from; for one budget for all write key: ["*"]'),
      );
    }
    if (
      raw['match'] !== undefined &&
      [options?.limit, ...Object.values(options?.plans ?? {})].some((limit) => limit?.kind === 'consecutiveFailures')
    ) {
      const mend = 'is asked by name, without "match": the gate gives no id by which a success could be told';
      faults.push(places.fault(at('match'), `a rule of consecutiveFailures ${mend}`));
    }
    if (key?.length === 1 && key[0]?.from === 'constant')
      warnings.push(`rule ${JSON.stringify(name)}: its key is a constant, so all clients share one budget`);
    if (!parsed.success || options === undefined || key === undefined) return undefined;
    // The library's own validation of the rule as a whole.
    try {
      createLimiter({ rules: { [name]: options } });
    } catch (error) {
      faults.push(places.fault(at(), (error as Error).message.replace(/^rule "(?:[^"\\]|\\.)*"[.:] ?/, '')));
      return undefined;
    }
    return { name, match, key, missingKey: raw['missingKey'] === 'skip' ? 'skip' : 'refuse', options };
  }

  const rules = new Map<string, ServiceRule>();
  const names = new Map<unknown, number>();
  const entries = field(file, 'rules');
  for (const [index, raw] of (Array.isArray(entries) ? (entries as unknown[]) : []).entries()) {
    if (!isRecord(raw)) continue;
    const before = names.get(raw['name']);
    if (before !== undefined && raw['name'] !== undefined) {
      faults.push(places.fault(['rules', index, 'name'], `rule number ${before + 1} has the same name; names are unique`));
    } else names.set(raw['name'], index);
    const rule = compileRule(raw, index);
    if (rule) rules.set(rule.name, rule);
  }
  const identify: Identify = make({ value: field(file, 'identify'), schema: identifySchema, path: ['identify'] }, (given) => given) ?? {};
  const trusted = { value: field(field(file, 'identify'), 'trustProxies') ?? [], schema: trustSchema, path: ['identify', 'trustProxies'] };
  const trust = make(trusted, trustProxies);
  faults.push(...planFaults(file, places));
  if (faults.length > 0 || trust === undefined) throw new RulesError(faults.sort((a, b) => a.line - b.line));
  const { apiKey = ['header:x-api-key', 'bearer'], account = ['header:x-account'], plan = [] } = identify;
  return {
    rules,
    options: Object.fromEntries([...rules.values()].map(({ name, options }) => [name, options])),
    trust,
    ipv6Prefix: identify.ipv6Prefix ?? 64,
    sources: { apiKey: compileSources(apiKey), account: compileSources(account), plan: compileSources(plan) },
    matcher: createMatcher(rules.values()),
    warnings,
  };
}
