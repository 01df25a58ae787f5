import { describe, expect, it } from 'vitest';
import { KeyedHash } from '../src/observe/keyed-hash.js';
import { Masks } from '../src/observe/masks.js';
import { TopRefused } from '../src/observe/top-refused.js';
import { random, secret } from './support/traffic.js';

const masks = new Masks(secret);
const hash = new KeyedHash([3, 4]);

/** Counts as given, in an order that a seed shuffles. */
function summaryOf(counts: ReadonlyMap<string, number>, seed = 1): TopRefused {
  const next = random(seed);
  const keys = [...counts].flatMap(([key, count]) => Array.from({ length: count }, () => ({ key, at: next() })));
  const summary = new TopRefused(masks);
  for (const { key } of keys.sort((a, b) => a.at - b.at)) summary.add(hash.of(key), key);
  return summary;
}

/** Each key half as often as the one before, and three hundred that come once each. */
const skewed = (prefix: string): Map<string, number> =>
  new Map([
    ...Array.from({ length: 10 }, (_, i) => [`${prefix}-${i}`, 1024 >> i] as const),
    ...Array.from({ length: 300 }, (_, i) => [`${prefix}-once-${i}`, 1] as const),
  ]);

const total = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((sum, count) => sum + count, 0);

function expectBounds(summary: TopRefused, counts: ReadonlyMap<string, number>): void {
  const byMask = new Map([...counts].map(([key, count]) => [masks.maskOf(key), count]));
  const told = summary.top(64);
  for (const { mask, refused, atMost } of told) {
    const true_ = byMask.get(mask) ?? 0;
    expect(refused).toBeLessThanOrEqual(true_);
    expect(atMost).toBeGreaterThanOrEqual(true_);
    expect(atMost - refused).toBeLessThanOrEqual(total(counts) / 64);
  }
  // Whoever has more than the 64th part of all is told.
  for (const [key, count] of counts) if (count > total(counts) / 64 + 64) expect(told.map(({ mask }) => mask)).toContain(masks.maskOf(key));
}

describe('the keys refused most', () => {
  it('are counted exactly while there are no more than counters', () => {
    const counts = new Map(Array.from({ length: 64 }, (_, i) => [`key-${i}`, i + 1]));
    const told = summaryOf(counts).top(3);
    expect(told).toEqual([64, 63, 62].map((count) => ({ mask: masks.maskOf(`key-${count - 1}`), refused: count, atMost: count })));
  });

  it('are told within bounds that hold, whatever else is refused, in any order', () => {
    for (let seed = 1; seed <= 20; seed += 1) expectBounds(summaryOf(skewed('key'), seed), skewed('key'));
  });

  it('are found beside twenty thousand keys that are refused once', () => {
    const counts = new Map([['hot', 2000], ...Array.from({ length: 20_000 }, (_, i) => [`once-${i}`, 1] as [string, number])] as [
      string,
      number,
    ][]);
    const [first] = summaryOf(counts).top(1);
    expect(first?.mask).toBe(masks.maskOf('hot'));
    expect(first?.refused).toBeGreaterThan(1500);
  });

  it('keep their bounds when summaries merge, of the same keys and of others', () => {
    for (const [first, second] of [
      [skewed('a'), skewed('a')],
      [skewed('a'), skewed('b')],
      // Of some keys the second has lost sight.
      [skewed('a'), new Map([...skewed('b'), ...Array.from({ length: 10 }, (_, i) => [`a-${i}`, 3] as const)])],
      [skewed('a'), new Map([['a-0', 5]])],
      [new Map([['a-0', 5]]), skewed('a')],
    ] as const) {
      const merged = summaryOf(first, 5);
      merged.merge([summaryOf(second, 6)]);
      const counts = new Map(first);
      for (const [key, count] of second) counts.set(key, (counts.get(key) ?? 0) + count);
      expectBounds(merged, counts);
    }
  });

  it('merge many at once as one by one, as far as bounds go', () => {
    const parts = Array.from({ length: 12 }, (_, i) => new Map([['hot', 100], ...skewed(`part-${i}`)]));
    const summaries = () => parts.map((part, i) => summaryOf(part, i));
    const counts = new Map<string, number>();
    for (const part of parts) for (const [key, count] of part) counts.set(key, (counts.get(key) ?? 0) + count);
    const together = new TopRefused(masks);
    together.merge(summaries());
    expectBounds(together, counts);
    const inTurn = new TopRefused(masks);
    for (const summary of summaries()) inTurn.merge([summary]);
    expectBounds(inTurn, counts);
  });

  it('are none where nobody was refused', () => {
    const empty = new TopRefused(masks);
    expect(empty.top(10)).toEqual([]);
    empty.merge([new TopRefused(masks)]);
    expect(empty.top(10)).toEqual([]);
  });
});
