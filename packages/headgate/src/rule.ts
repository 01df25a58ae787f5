import { ConfigError, rejectUnknownOptions, show } from './errors.js';
import type { CountedLimit, Limit, LimitKind } from './limit.js';
import { readMode, type LocalMode, type Mode } from './mode.js';

/** What a check answers while the shared store is slow or gone. */
export type WhenUnavailable = 'local' | 'allow' | 'refuse';

/** A named limit and how to apply it, as the user writes it. */
export interface RuleOptions<Plan extends string = string> {
  readonly limit: Limit;
  /**
   * How it counts on a shared store, `'exact'` by default; see {@link Mode}. Not for `concurrency`, `consecutiveFailures`, `slidingLog` or
   * `countRefused`.
   */
  readonly mode?: Mode;
  /** `'local'` (default): decide in memory by this process's share; `'allow'`; `'refuse'`. */
  readonly whenUnavailable?: WhenUnavailable;
  /** Only observe: `allowed` is true, `wouldAllow` is what the rule would have said. Default false. */
  readonly shadow?: boolean;
  /** Refused requests take units too. Default false. Not for `concurrency` or `consecutiveFailures`. */
  readonly countRefused?: boolean;
  /** Limits by plan; a check that names no plan, or one that is not here, gets `limit`. */
  readonly plans?: { readonly [P in Plan]?: Limit };
}

/** A rule as the limiter uses it: validated, with every default filled in. */
export interface Rule {
  readonly name: string;
  readonly limit: Limit;
  /** Undefined: exact. */
  readonly mode: LocalMode | undefined;
  readonly whenUnavailable: WhenUnavailable;
  readonly shadow: boolean;
  readonly countRefused: boolean;
  readonly plans: ReadonlyMap<string, Limit>;
  /** The kinds of counters this rule has over all plans. */
  readonly kinds: readonly CountedLimit['kind'][];
}

const known = ['limit', 'mode', 'whenUnavailable', 'shadow', 'countRefused', 'plans'];
const kinds: readonly LimitKind[] = [
  'tokenBucket',
  'fixedWindow',
  'slidingWindow',
  'slidingLog',
  'quota',
  'concurrency',
  'consecutiveFailures',
  'unlimited',
];

function checkLimit(where: string, limit: unknown): Limit {
  if (typeof limit === 'object' && limit !== null && Object.isFrozen(limit) && kinds.includes((limit as Limit).kind)) return limit as Limit;
  throw new ConfigError(
    'HEADGATE_BAD_LIMIT',
    `${where}: expected a limit such as tokenBucket({ capacity: 20, refill: "2/s" }); got ${show(limit)}`,
  );
}

function checkFlag(where: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new ConfigError('HEADGATE_BAD_OPTION', `${where}: expected true or false; got ${show(value)}`);
}

/** Rules by the options that made them, where nobody can change those. */
const made = new WeakMap<RuleOptions, Rule>();

/** Frozen in all its parts; limits always are. */
const isFixed = (options: RuleOptions): boolean => [options, options.plans, options.mode].every(Object.isFrozen);

/**
 * Validates one rule. Frozen options make the same rule as before, so that a change of one rule among thousands costs that one.
 *
 * @throws ConfigError naming the rule, the option and its value
 */
export function makeRule(name: string, options: RuleOptions): Rule {
  // Options that are no object are no key, which is asked without an error.
  const known = made.get(options);
  if (known?.name === name) return known;
  const rule = readRule(name, options);
  if (isFixed(options)) made.set(options, rule);
  return rule;
}

function readRule(name: string, options: RuleOptions): Rule {
  // Names become policy names in structured header fields (RFC 9651 strings): printable ASCII only.
  if (!/^[\x20-\x7e]{1,128}$/.test(name)) {
    throw new ConfigError('HEADGATE_BAD_RULE', `rule ${show(name)}: a name is 1 to 128 printable ASCII characters`);
  }
  const where = `rule ${show(name)}`;
  rejectUnknownOptions(where, options, known);
  const limit = checkLimit(`${where}.limit`, options.limit);
  const { whenUnavailable = 'local', plans = {} } = options;
  if (!['local', 'allow', 'refuse'].includes(whenUnavailable)) {
    throw new ConfigError(
      'HEADGATE_BAD_OPTION',
      `${where}.whenUnavailable: expected "local", "allow" or "refuse"; got ${show(whenUnavailable)}`,
    );
  }
  if (typeof plans !== 'object' || plans === null) {
    throw new ConfigError('HEADGATE_BAD_OPTION', `${where}.plans: expected an object of limits by plan; got ${show(plans)}`);
  }
  const byPlan = new Map(Object.entries(plans).map(([plan, l]) => [plan, checkLimit(`${where}.plans.${plan}`, l)]));
  const counted = new Set([limit, ...byPlan.values()].map((l) => l.kind));
  counted.delete('unlimited');
  const countRefused = checkFlag(`${where}.countRefused`, options.countRefused ?? false);
  if (countRefused && counted.has('concurrency')) {
    throw new ConfigError(
      'HEADGATE_BAD_RULE',
      `${where}.countRefused: a refused request holds nothing, so "concurrency" cannot count it; drop the option`,
    );
  }
  if (countRefused && counted.has('consecutiveFailures')) {
    throw new ConfigError(
      'HEADGATE_BAD_RULE',
      `${where}.countRefused: a refused attempt looked at no password, so "consecutiveFailures" does not count it; drop the option`,
    );
  }
  return Object.freeze({
    name,
    limit,
    mode: readMode(`${where}.mode`, options.mode, { limits: [limit, ...byPlan.values()], countRefused }),
    whenUnavailable,
    shadow: checkFlag(`${where}.shadow`, options.shadow ?? false),
    countRefused,
    plans: byPlan,
    kinds: [...counted] as CountedLimit['kind'][],
  });
}
