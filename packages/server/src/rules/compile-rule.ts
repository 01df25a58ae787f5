import { createLimiter, limitFrom, type Limit, type RuleOptions } from 'headgate';
import type { z } from 'zod';
import type { Fault, Places } from './faults.js';
import { compileKey, type KeyPart } from './identify.js';
import { compileMatch, type Match } from './match.js';
import { matchSchema } from './match-schema.js';
import { keySchema, limitSchema, ruleSchema } from './schema.js';

/** A rule as the service uses it. */
export interface ServiceRule {
  readonly name: string;
  readonly match: Match | undefined;
  readonly key: readonly KeyPart[];
  readonly missingKey: 'refuse' | 'skip';
  /** Frozen, so that the library knows them again. */
  readonly options: RuleOptions;
}

/** A rule with what it was made of: the same text makes the same rule. */
export interface CompiledRule {
  /** Undefined: it cannot be told. */
  readonly text: string | undefined;
  readonly rule: ServiceRule;
  /** Things that are allowed but may not be meant. */
  readonly warnings: readonly string[];
}

/**
 * A limit as a rules file says it.
 *
 * @throws Error that tells what is wrong
 */
export function limitOf(value: unknown): Limit {
  const parsed = limitSchema.safeParse(value);
  if (!parsed.success) throw new Error(parsed.error.issues.map(({ path, message }) => [...path, message].join(': ')).join('; '));
  return limitFrom(parsed.data);
}

type Path = readonly PropertyKey[];

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Own fields only: a value may be anything that a file can say. */
export const field = (value: unknown, name: string): unknown => (isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined);

/** Where faults go, and where they are. */
export interface Findings {
  readonly places: Places;
  readonly faults: Fault[];
}

/** A part of a file. */
interface Part<S extends z.ZodType> {
  readonly value: unknown;
  readonly schema: S;
  readonly path: Path;
}

/** Makes a part, if it is there and well formed. A malformed one is a fault already, by the schema of the whole. */
export function make<S extends z.ZodType, T>(
  { value, schema, path }: Part<S>,
  maker: (input: z.infer<S>) => T,
  { places, faults }: Findings,
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

function compileOptions(raw: Record<string, unknown>, at: (...path: string[]) => Path, findings: Findings): RuleOptions | undefined {
  const limitAt = (value: unknown, ...path: string[]): Limit | undefined =>
    make({ value, schema: limitSchema, path: at(...path) }, limitFrom, findings);
  const limit = limitAt(raw['limit'], 'limit');
  const rawPlans = isRecord(raw['plans']) ? Object.entries(raw['plans']) : [];
  const plans = rawPlans.map(([plan, value]) => [plan, limitAt(value, 'plans', plan)] as const);
  if (limit === undefined || plans.some(([, value]) => value === undefined)) return undefined;
  const options: Record<string, unknown> = { limit };
  for (const name of ['mode', 'whenUnavailable', 'shadow', 'countRefused']) {
    const value = field(raw, name);
    if (value !== undefined) options[name] = isRecord(value) ? Object.freeze({ ...value }) : value;
  }
  if (plans.length > 0) options['plans'] = Object.freeze(Object.fromEntries(plans));
  return Object.freeze(options) as unknown as RuleOptions;
}

/** Undefined where it has none, as when a value contains itself. */
export function textOf(raw: unknown): string | undefined {
  try {
    return JSON.stringify(raw);
  } catch {
    return undefined;
  }
}

/** Compiles what a file says of the rule at `index`; undefined if it has faults, which are all told. */
export function compileRule(raw: unknown, index: number, findings: Findings): CompiledRule | undefined {
  const { places, faults } = findings;
  const before = faults.length;
  const at = (...path: string[]): Path => ['rules', index, ...path];
  const parsed = ruleSchema.safeParse(raw, { reportInput: true });
  if (!parsed.success) faults.push(...places.faultsOf(parsed.error.issues.map((issue) => ({ ...issue, path: [...at(), ...issue.path] }))));
  if (!isRecord(raw)) return undefined;
  const name = String(raw['name']);
  const options = compileOptions(raw, at, findings);
  const match = make({ value: raw['match'], schema: matchSchema, path: at('match', 'path') }, compileMatch, findings);
  const key = make({ value: raw['key'], schema: keySchema, path: at('key') }, compileKey, findings) ?? [];
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
  if (faults.length > before || options === undefined) return undefined;
  // The library's own validation of the rule as a whole.
  try {
    createLimiter({ rules: { [name]: options } });
  } catch (error) {
    faults.push(places.fault(at(), (error as Error).message.replace(/^rule "(?:[^"\\]|\\.)*"[.:] ?/, '')));
    return undefined;
  }
  const isShared = key.length === 1 && key[0]?.from === 'constant';
  return {
    text: textOf(raw),
    rule: { name, match, key, missingKey: raw['missingKey'] === 'skip' ? 'skip' : 'refuse', options },
    warnings: isShared ? [`rule ${JSON.stringify(name)}: its key is a constant, so all clients share one budget`] : [],
  };
}
