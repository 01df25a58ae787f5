import { describe, expect, it } from 'vitest';
import { rendezvous, type Place } from '../src/stores/rendezvous.js';

const keys = Array.from({ length: 100_000 }, (_, i) => [`user-${i}`, `10.0.${i >> 8}.${i & 255}`, `+4179${1_000_000 + i}`][i % 3] ?? '');
const even = (count: number): Place[] => Array.from({ length: count }, (_, i) => ({ name: `redis-${i}`, weight: 1 }));

function parts(places: readonly Place[]): Map<string, number> {
  const placeOf = rendezvous(places);
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(placeOf(key), (counts.get(placeOf(key)) ?? 0) + 1);
  return counts;
}

describe('keys over shards', () => {
  it('are spread evenly, whatever they look like', () => {
    for (const count of [2, 3, 8, 32]) {
      const expected = keys.length / count;
      for (const [name, found] of parts(even(count))) expect(Math.abs(found - expected), name).toBeLessThan(5 * Math.sqrt(expected));
    }
  });

  it('move to a ninth shard by a ninth, and between no two others', () => {
    const [before, after] = [rendezvous(even(8)), rendezvous(even(9))];
    const moved = keys.filter((key) => before(key) !== after(key));
    expect(moved.length / keys.length).toBeGreaterThan(0.9 / 9);
    expect(moved.length / keys.length).toBeLessThan(1.1 / 9);
    expect(moved.every((key) => after(key) === 'redis-8')).toBe(true);
  });

  it('of a shard that is taken out spread over the others, and no other key moves', () => {
    const [all, out] = [
      rendezvous(even(8)),
      rendezvous(even(8).map((place) => (place.name === 'redis-3' ? { ...place, weight: 0 } : place))),
    ];
    expect(keys.filter((key) => all(key) !== 'redis-3').every((key) => all(key) === out(key))).toBe(true);
    const heirs = new Set(keys.filter((key) => all(key) === 'redis-3').map(out));
    expect(heirs.size).toBe(7);
  });

  it('follow the weights, and a raised weight only draws keys to itself', () => {
    const [a, b] = [
      [
        { name: 'a', weight: 1 },
        { name: 'b', weight: 1 },
        { name: 'c', weight: 2 },
      ],
      [
        { name: 'a', weight: 1 },
        { name: 'b', weight: 1.5 },
        { name: 'c', weight: 2 },
      ],
    ];
    const counts = parts(a ?? []);
    expect((counts.get('c') ?? 0) / keys.length).toBeCloseTo(0.5, 1);
    const [before, after] = [rendezvous(a ?? []), rendezvous(b ?? [])];
    expect(keys.filter((key) => before(key) !== after(key)).every((key) => after(key) === 'b')).toBe(true);
  });

  it('lie where they lay with every earlier version, whatever the order of the names', () => {
    const names = ['a', 'b', 'c', 'd'].map((name) => ({ name, weight: 1 }));
    const places = ['user-1', 'user-2', '10.0.0.1', '+41790000000', 'schlüssel', '鍵'].map(rendezvous(names));
    expect(places).toEqual(['d', 'd', 'd', 'c', 'c', 'b']);
    expect(['user-1', 'user-2', '10.0.0.1', '+41790000000', 'schlüssel', '鍵'].map(rendezvous([...names].reverse()))).toEqual(places);
  });
});
