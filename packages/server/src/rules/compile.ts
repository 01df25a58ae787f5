import {
  concurrency,
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
import { RulesError, type Fault, type Places } from './faults.js';
import { compileKey, compileSources, type KeyPart, type SourcePart } from './identify.js';
import { compileMatch, type Match } from './match.js';
import type { LimitEntry, RuleEntry, RulesFile } from './schema.js';

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
  readonly sources: { readonly apiKey: readonly SourcePart[]; readonly account: readonly SourcePart[] };
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
  unlimited: () => unlimited(),
};

function makeLimit(entry: LimitEntry): Limit {
  const [[kind, options]] = Object.entries(entry).filter(([, value]) => value !== undefined) as [[string, never]];
  const maker = makers[kind];
  if (maker === undefined) throw new Error(`no such limit: ${kind}`);
  return maker(options);
}

/** The limit in force for a plan. */
export function limitInForce(set: RuleSet, name: string, plan: string | undefined): Limit | undefined {
  const options = set.rules.get(name)?.options;
  return (plan === undefined || !Object.hasOwn(options?.plans ?? {}, plan) ? undefined : options?.plans?.[plan]) ?? options?.limit;
}

/** Compiles rules, collecting every fault. */
export function compileRules(file: RulesFile, places: Places): RuleSet {
  const faults: Fault[] = [];
  const warnings: string[] = [];
  const attempt = <T>(path: readonly PropertyKey[], make: () => T): T | undefined => {
    try {
      return make();
    } catch (error) {
      faults.push(places.fault(path, (error as Error).message));
      return undefined;
    }
  };

  function compileRule(entry: RuleEntry, index: number): ServiceRule | undefined {
    const at = (...path: PropertyKey[]): PropertyKey[] => ['rules', index, ...path];
    const limit = attempt(at('limit'), () => makeLimit(entry.limit));
    const plans = Object.entries(entry.plans ?? {}).map(([plan, value]) => [plan, attempt(at('plans', plan), () => makeLimit(value))] as const);
    const match = entry.match && attempt(at('match'), () => compileMatch(entry.match ?? {}));
    const key = attempt(at('key'), () => compileKey(entry.key ?? []));
    if (entry.match !== undefined && entry.key === undefined) {
      faults.push(places.fault(at(), 'a rule with "match" needs a "key": whose budget a request takes from; for one budget for all write key: ["*"]'));
    }
    if (key?.length === 1 && key[0]?.from === 'constant') warnings.push(`rule ${JSON.stringify(entry.name)}: its key is a constant, so all clients share one budget`);
    const { whenUnavailable, shadow, countRefused } = entry;
    if (limit === undefined || key === undefined || plans.some(([, value]) => value === undefined)) return undefined;
    const options: RuleOptions = {
      limit,
      ...(plans.length > 0 ? { plans: Object.fromEntries(plans) as Record<string, Limit> } : undefined),
      ...(whenUnavailable === undefined ? undefined : { whenUnavailable }),
      ...(shadow === undefined ? undefined : { shadow }),
      ...(countRefused === undefined ? undefined : { countRefused }),
    };
    // The library's own validation of the rule as a whole.
    if (attempt(at(), () => createLimiter({ rules: { [entry.name]: options } })) === undefined) return undefined;
    return { name: entry.name, match, key, missingKey: entry.missingKey ?? 'refuse', options };
  }

  const rules = new Map<string, ServiceRule>();
  const names = new Map<string, number>();
  for (const [index, entry] of file.rules.entries()) {
    const before = names.get(entry.name);
    if (before !== undefined) faults.push(places.fault(['rules', index, 'name'], `rule number ${before + 1} has the same name; names are unique`));
    names.set(entry.name, index);
    const rule = compileRule(entry, index);
    if (rule) rules.set(rule.name, rule);
  }
  const { apiKey = ['header:x-api-key', 'bearer'], account = ['header:x-account'], trustProxies: trusted = [] } = file.identify ?? {};
  const trust = attempt(['identify', 'trustProxies'], () => trustProxies(trusted));
  if (faults.length > 0 || trust === undefined) throw new RulesError(faults);
  return {
    rules,
    options: Object.fromEntries([...rules.values()].map(({ name, options }) => [name, options])),
    trust,
    sources: { apiKey: compileSources(apiKey), account: compileSources(account) },
    warnings,
  };
}
