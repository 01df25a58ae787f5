// The clients of a bench, by what is left of their keys: an HMAC of each, as with keySecret.
import { createHmac } from 'node:crypto';

const size = 12;

/** 12 bytes of HMAC for each of so many, one after the other. */
export function macsOf(count) {
  const macs = Buffer.alloc(count * size);
  for (let i = 0; i < count; i += 1) {
    createHmac('sha256', 'a secret of the bench')
      .update(`user-${i}`)
      .digest()
      .copy(macs, i * size, 0, size);
  }
  return macs;
}

/** One client's in text, for a key's name. */
export const textOf = (macs, i, bytes = size) => macs.toString('base64url', i * size, i * size + bytes);

/** Which of 2^bits packs a client is in, from the first 4 bytes. */
export const packOf = (macs, i, bits) => macs.readUInt32BE(i * size) >>> (32 - bits);

/** What tells a client from others in its pack: 6 of the bytes that do not choose the pack. */
export const tagOf = (macs, i) => macs.subarray(i * size + 4, i * size + 10);

/** Numbers that look random and are the same in each run. */
export function randoms(seed = 42) {
  let x = seed;
  return (below) => {
    x = (x + 0x6d2b79f5) | 0;
    let t = Math.imul(x ^ (x >>> 15), 1 | x);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** So many different clients, of which `pick` says one at a time. */
export function someOf(count, pick) {
  const chosen = new Set();
  while (chosen.size < count) chosen.add(pick());
  return [...chosen];
}
