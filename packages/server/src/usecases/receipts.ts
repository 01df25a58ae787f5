import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { PortableReceipt } from 'headgate';
import { z } from 'zod';

/** Turns receipts into ids that only servers with the same secret can read or make, and back. */
export interface Receipts {
  seal(receipt: PortableReceipt): string;
  /** Undefined for what no server with this secret sealed. */
  open(id: string): PortableReceipt | undefined;
}

const ivBytes = 12;
const tagBytes = 16;
/** Of the sealed text; goes up when a receipt's fields change. */
const version = 1;

/** Longer ids are not even decoded: they do not fit into a body either. */
const longestId = 65_536;

const units = z.int().min(0).max(9_000_000_000);
const us = z.int().positive();
const windowed = { limit: units, windowUs: us };

/** What a sealed text holds. A server of another version may have sealed something else. */
const sealed = z.strictObject({
  v: z.literal(version),
  rule: z.string().min(1),
  key: z.string().min(1),
  limit: z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('tokenBucket'),
      capacity: units,
      creditUnits: z.number().positive(),
      creditUs: z.number().positive(),
    }),
    z.strictObject({ kind: z.literal('fixedWindow'), ...windowed, from: z.enum(['epoch', 'first-request']) }),
    z.strictObject({ kind: z.literal('slidingWindow'), ...windowed }),
    z.strictObject({ kind: z.literal('slidingLog'), ...windowed }),
    z.strictObject({
      kind: z.literal('quota'),
      limit: units,
      period: z.enum(['hour', 'day', 'week', 'month', 'year']),
      timeZone: z.string(),
      billingDay: z.int().min(1).max(31),
    }),
    z.strictObject({ kind: z.literal('concurrency'), limit: units, expiresUs: us }),
    z.strictObject({
      kind: z.literal('consecutiveFailures'),
      limit: units,
      free: units,
      firstWaitUs: us,
      longestWaitUs: us,
      forgetUs: us,
    }),
  ]),
  taken: units.min(1),
  takenAt: z.int().positive(),
  windowEnd: z.int().exactOptional(),
  holder: z
    .string()
    .regex(/^[\w-]+$/)
    .exactOptional(),
  plan: z.string().exactOptional(),
  degraded: z.boolean(),
  onceId: z.string().min(1).max(64),
});

function read(text: string): PortableReceipt | undefined {
  const parsed = sealed.safeParse(JSON.parse(text));
  if (!parsed.success) return undefined;
  const { v: _, ...receipt } = parsed.data;
  return receipt;
}

/**
 * Nonces that never come twice under a key: 64 random bits for as many as 32 bits count, then others (NIST SP 800-38D, section 8.2.1). Random
 * bytes for each would cost more than the cipher.
 */
function nonces(): () => Buffer {
  let fixed = randomBytes(ivBytes - 4);
  let count = 0;
  return () => {
    const nonce = Buffer.allocUnsafe(ivBytes);
    fixed.copy(nonce);
    nonce.writeUInt32BE(count, ivBytes - 4);
    count = (count + 1) % 2 ** 32;
    if (count === 0) fixed = randomBytes(ivBytes - 4);
    return nonce;
  };
}

/**
 * Seals by AES-256-GCM (NIST SP 800-38D) under a key derived from the secret (HKDF-SHA-256, RFC 5869): an id is opaque, authenticated
 * and self-contained, so that any server can take it back.
 */
export function receipts(secret: string | Buffer): Receipts {
  const key = Buffer.from(hkdfSync('sha256', secret, 'headgate', 'decision ids', 32));
  const nextNonce = nonces();
  return {
    seal(receipt) {
      const iv = nextNonce();
      const cipher = createCipheriv('aes-256-gcm', key, iv);
      // Of a stream cipher the end adds nothing, but makes the tag.
      const text = cipher.update(JSON.stringify({ v: version, ...receipt }), 'utf8');
      cipher.final();
      return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url');
    },

    open(id) {
      if (id.length > longestId || !/^[\w-]+$/.test(id)) return undefined;
      const bytes = Buffer.from(id, 'base64url');
      if (bytes.length <= ivBytes + tagBytes) return undefined;
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
        decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
        return read(Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]).toString('utf8'));
      } catch {
        return undefined;
      }
    },
  };
}
