import { describe, expect, it } from 'vitest';
import { Distinct, standardError } from '../src/observe/distinct.js';
import { KeyedHash } from '../src/observe/keyed-hash.js';
import { random } from './support/traffic.js';

const seeds = Array.from({ length: 60 }, (_, seed) => new KeyedHash([seed, seed * 7919]));

/** A sketch of `count` keys from the number `from` on. */
function sketchOf(count: number, { hash = seeds[0]!, from = 0 } = {}): Distinct {
  const sketch = new Distinct();
  for (let i = from; i < from + count; i += 1) sketch.add(hash.of(`key-${i}`));
  return sketch;
}

/** Relative errors of the estimate, one for each seed. */
const errorsAt = (count: number): number[] => seeds.map((hash) => sketchOf(count, { hash }).estimate() / count - 1);

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** A sketch as so many keys leave it behind, drawn by what is likely of each register instead of key by key. */
function drawn(count: number, seed: number): Distinct {
  const next = random(seed);
  const sketch = new Distinct();
  for (let low = 0; low < 2048; low += 1) {
    // Of n keys (n Poisson's), all ranks are at most k with a chance of exp(-n / 2^k).
    const rank = Math.ceil(Math.log2(count / 2048 / -Math.log(next())));
    if (rank > 0) sketch.add({ low, high: rank > 32 ? 0 : (2 ** (32 - rank)) | 0 });
  }
  return sketch;
}

describe('the sketch of distinct keys', () => {
  it.each([100, 1000, 5000, 10_000, 100_000])('is off by its standard error at %i keys over many seeds, and not to one side', (count) => {
    const errors = errorsAt(count);
    const deviation = Math.sqrt(mean(errors.map((error) => error ** 2)));
    // Of 60 samples a deviation is itself known to a tenth; three of those.
    expect(deviation).toBeLessThan(1.3 * standardError);
    expect(Math.abs(mean(errors))).toBeLessThan((3 * standardError) / Math.sqrt(seeds.length));
    expect(Math.max(...errors.map(Math.abs))).toBeLessThan(4 * standardError);
  });

  it('is right within 7 % at two million keys', () => {
    expect(Math.abs(sketchOf(2_000_000).estimate() / 2e6 - 1)).toBeLessThan(3 * standardError);
  });

  it.each([1e6, 1e9, 1e12, 1e13])('is as good at %f keys', (count) => {
    const errors = seeds.map((_, seed) => drawn(count, seed).estimate() / count - 1);
    expect(Math.sqrt(mean(errors.map((error) => error ** 2)))).toBeLessThan(1.3 * standardError);
    expect(Math.abs(mean(errors))).toBeLessThan((3 * standardError) / Math.sqrt(seeds.length));
  });

  it('takes index and rank of different words, and the top bit first', () => {
    const ranked = (low: number, high: number) => {
      const sketch = new Distinct();
      sketch.add({ low, high });
      return sketch.estimate();
    };
    expect(ranked(5, 1)).toBe(ranked(7 - 2 ** 31, 1));
    expect(ranked(5, 1)).toBeGreaterThan(ranked(5, -1));
  });

  it('is right to the key where there are few', () => {
    expect(new Distinct().estimate()).toBe(0);
    for (const hash of seeds) {
      for (const count of [1, 2, 5]) expect(Math.abs(sketchOf(count, { hash }).estimate() - count)).toBeLessThan(1.1);
      expect(Math.round(sketchOf(1, { hash }).estimate())).toBe(1);
    }
  });

  it('counts a key once however often it comes', () => {
    const sketch = sketchOf(1000);
    const before = sketch.estimate();
    sketch.merge(sketchOf(1000));
    expect(sketch.estimate()).toBe(before);
  });

  it('merges into exactly the sketch of all keys, in any order', () => {
    const parts = [0, 1, 2, 3].map((part) => sketchOf(7000, { from: part * 5000 }));
    const whole = sketchOf(22_000).estimate();
    for (const order of [parts, [...parts].reverse()]) {
      const merged = new Distinct();
      for (const part of order) merged.merge(part);
      expect(merged.estimate()).toBe(whole);
    }
  });

  it('estimates another number under another seed: nobody can choose keys that count as one for all', () => {
    expect(new Set(seeds.map((hash) => sketchOf(1000, { hash }).estimate())).size).toBeGreaterThan(50);
  });

  it('draws a seed of its own for each process', () => {
    const [a, b] = [new KeyedHash(), new KeyedHash()];
    expect([a.of('key').low, a.high]).not.toEqual([b.of('key').low, b.high]);
  });
});
