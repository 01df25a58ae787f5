import { createHmac, hkdfSync } from 'node:crypto';
import { ConfigError } from '../errors.js';

/**
 * Partition keys for header fields (`pk`): 96 bits of HMAC-SHA-256 of a key, by which a client tells its budgets apart, and from which
 * nobody who does not have the secret can guess an address or a phone number.
 *
 * @param secret - at least 16 characters, the same on all servers
 * @throws ConfigError that does not show the secret
 * @example
 * ```ts
 * import { fixedWindow } from 'headgate';
 * import { partitionKeys, policyHeader, policyOf } from 'headgate/http';
 *
 * const partitionKeyOf = partitionKeys('at least sixteen characters');
 * policyHeader([policyOf('login', fixedWindow({ limit: 5, window: '1m' }), { partitionKey: partitionKeyOf('ada') })]);
 * ```
 */
export function partitionKeys(secret: string): (key: string) => Uint8Array {
  if (typeof secret !== 'string' || secret.length < 16) {
    throw new ConfigError('HEADGATE_BAD_OPTION', 'partitionSecret: expected text of at least 16 characters (the value is not shown)');
  }
  const derived = Buffer.from(hkdfSync('sha256', secret, 'headgate', 'partition keys', 32));
  return (key) => createHmac('sha256', derived).update(key).digest().subarray(0, 12);
}
