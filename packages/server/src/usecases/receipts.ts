import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { PortableReceipt } from 'headgate';

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

/** Longer ids are not even decoded. */
const longestId = 300_000;

/**
 * Seals by AES-256-GCM (NIST SP 800-38D) under a key derived from the secret (HKDF-SHA-256, RFC 5869): an id is opaque, authenticated
 * and self-contained, so that any server can take it back.
 */
export function receipts(secret: string | Buffer): Receipts {
  const key = Buffer.from(hkdfSync('sha256', secret, 'headgate', 'decision ids', 32));
  return {
    seal(receipt) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', key, iv);
      const sealed = Buffer.concat([cipher.update(JSON.stringify({ v: version, ...receipt })), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
    },

    open(id) {
      if (id.length > longestId || !/^[\w-]+$/.test(id)) return undefined;
      const bytes = Buffer.from(id, 'base64url');
      if (bytes.length <= ivBytes + tagBytes) return undefined;
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
        decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
        const text = Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]).toString('utf8');
        const { v, ...receipt } = JSON.parse(text) as PortableReceipt & { v: number };
        return v === version ? receipt : undefined;
      } catch {
        return undefined;
      }
    },
  };
}
