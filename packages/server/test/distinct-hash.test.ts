import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyedHash } from '../src/observe/keyed-hash.js';

interface Variant {
  readonly rounds: number;
  readonly lastRounds: number;
  readonly words: 1 | 2;
}

/** HalfSipHash as its paper and reference code say it, without any care for speed: over bytes, in a list of words. */
function reference(bytes: Uint8Array, [k0, k1]: readonly [number, number], { rounds, lastRounds, words }: Variant): number[] {
  const turn = (x: number, by: number) => ((x << by) | (x >>> (32 - by))) >>> 0;
  const v = [k0, k1 ^ (words === 2 ? 0xee : 0), k0 ^ 0x6c796765, k1 ^ 0x74656462].map((word) => word >>> 0) as [
    number,
    number,
    number,
    number,
  ];
  const mix = (times: number) => {
    for (let i = 0; i < times; i += 1) {
      v[0] = (v[0] + v[1]) >>> 0;
      v[1] = (turn(v[1], 5) ^ v[0]) >>> 0;
      v[0] = turn(v[0], 16);
      v[2] = (v[2] + v[3]) >>> 0;
      v[3] = (turn(v[3], 8) ^ v[2]) >>> 0;
      v[0] = (v[0] + v[3]) >>> 0;
      v[3] = (turn(v[3], 7) ^ v[0]) >>> 0;
      v[2] = (v[2] + v[1]) >>> 0;
      v[1] = (turn(v[1], 13) ^ v[2]) >>> 0;
      v[2] = turn(v[2], 16);
    }
  };
  const padded = Buffer.alloc((Math.floor(bytes.length / 4) + 1) * 4);
  padded.set(bytes);
  padded[padded.length - 1] = bytes.length;
  for (let at = 0; at < padded.length; at += 4) {
    const word = padded.readUInt32LE(at);
    v[3] = (v[3] ^ word) >>> 0;
    mix(rounds);
    v[0] = (v[0] ^ word) >>> 0;
  }
  v[2] = (v[2] ^ (words === 2 ? 0xee : 0xff)) >>> 0;
  mix(lastRounds);
  const found = [(v[1] ^ v[3]) >>> 0];
  if (words === 1) return found;
  v[1] = (v[1] ^ 0xdd) >>> 0;
  mix(lastRounds);
  return [...found, (v[1] ^ v[3]) >>> 0];
}

/** Of published vectors: bytes 00, 01, 02... under the key 00 01 02 03 04 05 06 07. */
const key = [0x03020100, 0x07060504] as const;
const counting = (length: number): Uint8Array => Uint8Array.from({ length }, (_, index) => index);

describe('the hash of keys', () => {
  it('has a reference that is HalfSipHash: vectors of its authors (2-4, 64 bits) and of Linux (1-3, 32 bits)', () => {
    const authors = [
      '218d1f59b9b83cc8',
      'be552412f8387315',
      '064f39ef7c50eb57',
      'ce0f1a45f7060679',
      'd5e78a175be52ea1',
      'cb9d7c3f2f3db580',
    ];
    for (const [length, vector] of authors.entries()) {
      const [low = 0, high = 0] = reference(counting(length), key, { rounds: 2, lastRounds: 4, words: 2 });
      const bytes = Buffer.alloc(8);
      bytes.writeUInt32LE(low, 0);
      bytes.writeUInt32LE(high, 4);
      expect(bytes.toString('hex')).toBe(vector);
    }
    const linux = [0x5814c896, 0xe7e864ca, 0xbc4b0e30, 0x01539939, 0x7e059ea6, 0x88e3d89b, 0xa0080b65, 0x9d38d9d6, 0x577999b1];
    for (const [length, vector] of linux.entries())
      expect(reference(counting(length), key, { rounds: 1, lastRounds: 3, words: 1 })).toEqual([vector]);
  });

  it('is HalfSipHash-1-3 with 64 bits over the UTF-16 of any text, under any seed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), fc.integer(), fc.integer(), (text, k0, k1) => {
        const [low = 0, high = 0] = reference(Buffer.from(text, 'utf16le'), [k0, k1], { rounds: 1, lastRounds: 3, words: 2 });
        const hash = new KeyedHash([k0, k1]).of(text);
        expect([hash.low >>> 0, hash.high >>> 0]).toEqual([low, high]);
      }),
      { numRuns: 500 },
    );
  });

  it('tells texts apart that only a unit, its place or the length does', () => {
    const hash = new KeyedHash([1, 2]);
    const texts = ['', '\0', '\0\0', 'a', 'a\0', '\0a', 'ab', 'ba', 'a'.repeat(128), 'a'.repeat(256)];
    expect(new Set(texts.map((text) => `${hash.of(text).low} ${hash.high}`)).size).toBe(texts.length);
  });
});
