import { durationUs } from './duration.js';
import { inputError, show } from './errors.js';
import { checkKey } from './key.js';
import { largestLimit, type Limit } from './limit.js';
import type { AcquireOptions, CheckOptions, SetUsedOptions } from './limiter-types.js';
import type { Rule } from './rule.js';
import type { Check } from './stores/store.js';

/** A check, validated; of an `unlimited` limit the store is asked nothing. */
export interface Asked extends Omit<Check, 'limit'> {
  readonly limit: Limit;
}

export const isCounted = (asked: Asked): asked is Check => asked.limit.kind !== 'unlimited';

/** The rule of a name. */
export function findRule(rules: ReadonlyMap<string, Rule>, name: unknown): Rule {
  const rule = rules.get(name as string);
  if (rule !== undefined) return rule;
  const known = [...rules.keys()].slice(0, 10).map(show).join(', ');
  throw inputError('HEADGATE_UNKNOWN_RULE', `unknown rule ${show(name)}; this limiter has ${known}${rules.size > 10 ? ', …' : ''}`);
}

function assertCost(rule: string, cost: unknown): void {
  if (typeof cost === 'number' && Number.isInteger(cost) && cost >= 1 && cost <= largestLimit) return;
  throw inputError('HEADGATE_BAD_COST', `rule ${show(rule)}: a cost is a whole number from 1 to ${largestLimit}; got ${show(cost)}`);
}

function checkOptions(verb: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw inputError('HEADGATE_BAD_CALL', `${verb}: options are an object with ${known.join(', ')}; got ${show(options)}`);
  }
  for (const name in options) {
    if (!known.includes(name))
      throw inputError('HEADGATE_UNKNOWN_OPTION', `${verb}: unknown option ${show(name)}; known options: ${known.join(', ')}`);
  }
}

const checkOptionNames = ['cost', 'plan'];
const acquireOptionNames = [...checkOptionNames, 'maxWait', 'signal'];

/** Ids that no other holder has: random per process, counted within it. */
const holderPrefix = crypto.randomUUID().replaceAll('-', '').slice(0, 16);
let holders = 0;

const plainOptions: CheckOptions = { cost: 1 };

function readOptions(rule: string, options: CheckOptions): CheckOptions {
  checkOptions('check', options, checkOptionNames);
  const { cost, plan } = options;
  if (plan !== undefined && typeof plan !== 'string') {
    throw inputError('HEADGATE_BAD_CALL', `rule ${show(rule)}: a plan is text; got ${show(plan)}`);
  }
  if (cost !== undefined) assertCost(rule, cost);
  return options;
}

/** Validates one check. Throws a TypeError with a code; nothing was asked of the store by then. */
export function makeCheck(rule: Rule, key: unknown, options?: CheckOptions): Asked {
  const { name, whenUnavailable, mode } = rule;
  checkKey(name, key);
  const { cost = 1, plan } = options === undefined ? plainOptions : readOptions(name, options);
  const limit = (plan === undefined ? undefined : rule.plans.get(plan)) ?? rule.limit;
  // Kept in one shape for the common case: this is on the path of every request.
  const asked =
    mode === undefined ? { rule: name, key, limit, cost, whenUnavailable } : { rule: name, key, limit, cost, whenUnavailable, mode };
  if (plan === undefined && !rule.countRefused && !rule.shadow && limit.kind !== 'concurrency') return asked;
  return {
    ...asked,
    ...(plan === undefined ? undefined : { plan }),
    ...(rule.countRefused ? { countRefused: true } : undefined),
    ...(rule.shadow ? { shadow: true } : undefined),
    ...(limit.kind === 'concurrency' ? { holder: `${holderPrefix}${(holders += 1).toString(36)}` } : undefined),
  };
}

/** The longest wait a timer can hold: just under 25 days. */
const longestWaitUs = 2_147_483_000_000;

/** Validates the options of `acquire` and takes out its own. */
export function readAcquire(options: AcquireOptions): { maxWaitUs: number; signal: AbortSignal | undefined; check: CheckOptions } {
  checkOptions('acquire', options, acquireOptionNames);
  const { maxWait, signal, ...check } = options;
  const maxWaitUs = durationUs('acquire.maxWait', maxWait);
  if (maxWaitUs > longestWaitUs) throw inputError('HEADGATE_BAD_CALL', `acquire.maxWait: at most 24 days; got ${show(maxWait)}`);
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw inputError('HEADGATE_BAD_CALL', `acquire.signal: expected an AbortSignal; got ${show(signal)}`);
  }
  return { maxWaitUs, signal, check };
}

/** Validates the options of `setUsed` and takes out its own. */
export function readSetUsed(options: SetUsedOptions): { used: number; check: CheckOptions } {
  checkOptions('setUsed', options, ['used', 'plan']);
  const { used, ...check } = options;
  if (!Number.isInteger(used) || used < 0 || used > largestLimit)
    throw inputError('HEADGATE_BAD_COST', `setUsed.used: a whole number from 0 to ${largestLimit}; got ${show(used)}`);
  return { used, check };
}
