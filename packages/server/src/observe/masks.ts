import { createHmac, hkdfSync } from 'node:crypto';
import { isIP } from 'node:net';

/** A key that is not told: 48 bits of its HMAC, and its shape as a number. */
export interface Mask {
  readonly digest: number;
  readonly shape: number;
}

const digestBytes = 6;

const kinds = ['', 'ip4', 'ip6', 'parts', 'text'] as const;
/** Lengths of keys, at most 65,536, fit below the kind. */
const kindUnit = 2 ** 20;

/** Longer texts are no address, with or without a prefix's length. */
const longestAddress = 64;
/** Longer keys are not looked into. */
const longestParts = 4096;

/** How many parts a key is made of; undefined if it is one. */
function partsOf(key: string): number | undefined {
  if (!key.startsWith('["') || key.length > longestParts) return undefined;
  try {
    const parts: unknown = JSON.parse(key);
    return Array.isArray(parts) ? parts.length : undefined;
  } catch {
    return undefined;
  }
}

function shapeOf(key: string): number {
  const version = key.length <= longestAddress ? isIP(key.replace(/\/\d{1,3}$/, '')) : 0;
  if (version !== 0) return kinds.indexOf(version === 4 ? 'ip4' : 'ip6') * kindUnit;
  const parts = partsOf(key);
  return parts === undefined ? kinds.indexOf('text') * kindUnit + key.length : kinds.indexOf('parts') * kindUnit + parts;
}

/**
 * Names for keys that do not tell them: `ip4:9c1185a5c5e9`, `ip6:...`, `text(12):...` with the length in UTF-16 units, `parts(2):...` for a
 * key of several parts. Twelve digits of HMAC-SHA-256 (RFC 2104) under a key derived from the secret (RFC 5869): servers with the same
 * secret show the same mask, whatever the rule, and who does not know the secret cannot try keys out, not even the few that addresses are.
 */
export class Masks {
  readonly #key: Buffer;

  constructor(secret: string | Buffer) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, 'headgate', 'masks of keys', 32));
  }

  of(key: string): Mask {
    return { digest: createHmac('sha256', this.#key).update(key).digest().readUIntBE(0, digestBytes), shape: shapeOf(key) };
  }

  show({ digest, shape }: Mask): string {
    const kind = kinds[Math.floor(shape / kindUnit)] ?? '';
    const size = shape % kindUnit;
    return `${kind}${size > 0 ? `(${size})` : ''}:${digest.toString(16).padStart(2 * digestBytes, '0')}`;
  }

  /** What a key is called: for an operator who has the key in hand. */
  maskOf(key: string): string {
    return this.show(this.of(key));
  }
}
