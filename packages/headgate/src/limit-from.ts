import { ConfigError, show } from './errors.js';
import {
  concurrency,
  consecutiveFailures,
  fixedWindow,
  quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
  unlimited,
  type Limit,
} from './limit.js';

const makers: Readonly<Record<string, (options: never) => Limit>> = {
  tokenBucket,
  fixedWindow,
  slidingWindow,
  slidingLog,
  quota,
  concurrency,
  consecutiveFailures,
  unlimited: () => unlimited(),
};

/**
 * Makes a limit from plain data, such as JSON or YAML: the name of a limit's function with its options, as in the service's rules files.
 *
 * @param entry - an object with one field: `{ tokenBucket: { capacity: 20, refill: '2/s' } }`; of `unlimited` the value does not matter
 * @throws ConfigError as the limit's own function does, or with `HEADGATE_BAD_LIMIT` if there is no such limit
 * @example
 * ```ts
 * import { createLimiter, limitFrom } from 'headgate';
 *
 * const limit = limitFrom(JSON.parse('{"fixedWindow":{"limit":5,"window":"1m"}}'));
 * const limiter = createLimiter({ rules: { login: { limit } } });
 * ```
 */
export function limitFrom(entry: Readonly<Record<string, unknown>>): Limit {
  const given = Object.entries(entry).filter(([, options]) => options !== undefined);
  const [[kind, options] = ['', undefined]] = given;
  const maker = given.length === 1 && Object.hasOwn(makers, kind) ? makers[kind] : undefined;
  if (maker === undefined) {
    const known = Object.keys(makers).join(', ');
    throw new ConfigError('HEADGATE_BAD_LIMIT', `limitFrom: expected an object with one of ${known}; got ${show(Object.keys(entry))}`);
  }
  return maker(options as never);
}
