import { createHash, createHmac } from 'node:crypto';
import { inputError, show } from './errors.js';

/** The longest key that is taken, in UTF-16 units; longer than any sane key, short enough to hash quickly. */
const longestKey = 65_536;

/** Longer than this, an encoded key is replaced by its hash. */
const longestPlain = 64;

const plain = /^[\w.@:/+=~-]{1,64}$/;

/**
 * Throws unless `key` is non-empty, well-formed text: a missing key must never become one budget for everybody, and two
 * keys with lone surrogates would meet in UTF-8.
 */
export function checkKey(rule: string, key: unknown): asserts key is string {
  if (typeof key !== 'string' || key === '') {
    throw inputError(
      'HEADGATE_BAD_KEY',
      `rule ${show(rule)}: a key is non-empty text; got ${show(key)}; name a key of its own for clients that have none`,
    );
  }
  if (key.length > longestKey)
    throw inputError('HEADGATE_BAD_KEY', `rule ${show(rule)}: the key is ${key.length} characters long; at most ${longestKey}`);
  if (!key.isWellFormed()) {
    throw inputError('HEADGATE_BAD_KEY', `rule ${show(rule)}: the key is not well-formed text (a lone surrogate)`);
  }
}

/**
 * A key as it stands in the store, inside a hash tag: no two keys meet, and neither `{`, `}` nor white space is in it.
 * Long keys become a hash (192 bits of SHA-256). Hashes begin with `#`, which encoded text never does.
 */
export function encodeKey(key: string): string {
  if (plain.test(key)) return key;
  const encoded = encodeURIComponent(key);
  if (encoded.length <= longestPlain) return encoded;
  return `#${createHash('sha256').update(key).digest().subarray(0, 24).toString('base64url')}`;
}

/** Keys whose HMAC is kept at hand. */
const remembered = 10_000;

/**
 * Replaces keys by 96 bits of HMAC-SHA-256 under a secret, so that what can be guessed (addresses, phone numbers) cannot be
 * read out of the store. Of a thousand million keys, any two meet with a chance of 1 in 10^11; who does not know the secret cannot
 * look for such.
 */
export function keyedEncoder(secret: string): (key: string) => string {
  const known = new Map<string, string>();
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    const encoded = createHmac('sha256', secret).update(key).digest().subarray(0, 12).toString('base64url');
    if (known.size >= remembered) known.clear();
    known.set(key, encoded);
    return encoded;
  };
}
