import { ConfigError, rejectUnknownOptions, show } from '../errors.js';
import { headerFormats, normalizeAddress, partitionKeys, trustProxies, type HeaderFormat } from '../http/index.js';
import type { CommonOptions, RateLimitOptions } from './types.js';

const common = [
  'limiter',
  'rule',
  'key',
  'cost',
  'plan',
  'checks',
  'skip',
  'countWhen',
  'trustProxies',
  'addressSource',
  'ipv6Prefix',
  'address',
  'headers',
  'partitionSecret',
  'quotaUnits',
  'onWarning',
];

const bad = (option: string, expected: string, value: unknown): ConfigError =>
  new ConfigError('HEADGATE_BAD_OPTION', `rateLimit.${option}: expected ${expected}; got ${show(value)}`);

/** Throws unless it is one of the ways to count. */
export function checkCountWhen(value: unknown): void {
  if (typeof value === 'function' || ['always', 'success', 'failure'].includes(value as string)) return;
  throw bad('countWhen', '"always", "success", "failure" or a function', value);
}

function checkRule(known: readonly string[], name: unknown): void {
  if (typeof name === 'function' || known.includes(name as string)) return;
  throw new ConfigError(
    'HEADGATE_UNKNOWN_RULE',
    `rateLimit.rule: the limiter has no rule ${show(name)}; it has ${known.slice(0, 10).map(show).join(', ')}${known.length > 10 ? ', …' : ''}`,
  );
}

function checkFunctions(options: Readonly<Record<string, unknown>>): void {
  for (const name of ['skip', 'address', 'onWarning', 'onRefused']) {
    const value = options[name];
    if (value !== undefined && typeof value !== 'function') throw bad(name, 'a function', value);
  }
}

/** What can be known to be wrong when the middleware is made, so that no request has to find out. */
export function checkOptions<Name extends string, Plan extends string, Req>(
  options: RateLimitOptions<Name, Plan, Req>,
  more: readonly string[],
): void {
  rejectUnknownOptions('rateLimit', options, [...common, ...more]);
  const { limiter, rule, checks, countWhen = 'always', quotaUnits = {} } = options;
  if (typeof limiter !== 'object' || limiter === null || typeof limiter.checkAll !== 'function' || !Array.isArray(limiter.rules)) {
    throw bad('limiter', 'what createLimiter() made', limiter);
  }
  if ((rule === undefined) === (checks === undefined)) {
    throw new ConfigError('HEADGATE_BAD_OPTION', 'rateLimit: expected either rule or checks; got both, or neither');
  }
  if (rule !== undefined) checkRule(limiter.rules, rule);
  else if (Array.isArray(checks)) for (const check of checks) checkRule(limiter.rules, (check as { rule?: unknown } | null)?.rule);
  else if (typeof checks !== 'function') throw bad('checks', 'a list of { rule, key?, cost?, plan? }, or a function', checks);
  if ('key' in options && typeof options.key !== 'function' && (typeof options.key !== 'string' || options.key === '')) {
    throw bad('key', 'text, or a function of the request; leave it out to count by address', options.key);
  }
  for (const name of Object.keys(quotaUnits)) checkRule(limiter.rules, name);
  checkCountWhen(countWhen);
  checkFunctions(options as unknown as Readonly<Record<string, unknown>>);
}

/** How limits are told. */
export interface Telling {
  readonly formats: readonly HeaderFormat[];
  readonly partitionKeyOf: ((key: string) => Uint8Array) | undefined;
  readonly quotaUnits: Readonly<Record<string, string | undefined>>;
}

type Options = CommonOptions<string, string, never>;

/** Reads how limits are to be told. */
export function readTelling({ headers = 'draft-11', partitionSecret, quotaUnits = {} }: Options): Telling {
  for (const unit of Object.values(quotaUnits)) {
    if (typeof unit !== 'string' || !/^[\x20-\x7e]{1,128}$/.test(unit))
      throw bad('quotaUnits', '1 to 128 printable ASCII characters', unit);
  }
  return {
    formats: headers === false ? [] : headerFormats(headers),
    partitionKeyOf: partitionSecret === undefined ? undefined : partitionKeys(partitionSecret),
    quotaUnits,
  };
}

/** Whose word counts about addresses, and what of them tells clients apart. */
export function readTrust({ trustProxies: proxies = 0, ipv6Prefix = 64 }: Options) {
  normalizeAddress('::', { ipv6Prefix });
  return {
    trust: trustProxies(proxies),
    ipv6Prefix,
    trustsEverybody: typeof proxies !== 'number' && proxies.some((cidr) => /\/0+$/.test(cidr)),
  };
}
