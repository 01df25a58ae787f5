import { describe, expect, it } from 'vitest';
import { Recent } from '../src/usecases/recent.js';

describe('what is known of the keys seen last', () => {
  it('is kept of as many as there is to be room for, and of at most twice as many', () => {
    const recent = new Recent<number>(10);
    for (let i = 0; i < 1000; i += 1) {
      recent.set(`key ${i}`, i);
      expect(recent.size).toBeLessThanOrEqual(20);
      for (let known = Math.max(0, i - 9); known <= i; known += 1) expect([known, recent.get(`key ${known}`)]).toEqual([known, known]);
    }
    expect(recent.get('key 3')).toBeUndefined();
  });

  it('stays of a key that is looked up again and again, whatever else comes', () => {
    const recent = new Recent<number>(10);
    recent.set('often', 1);
    for (let i = 0; i < 1000; i += 1) {
      recent.set(`key ${i}`, i);
      if (i % 8 === 0) expect(recent.get('often')).toBe(1);
    }
  });

  it('is what was set last, and it says whether anything was forgotten', () => {
    const recent = new Recent<number>(2);
    for (const key of ['a', 'b', 'c', 'd']) recent.set(key, 1);
    recent.set('d', 5);
    expect([recent.get('d'), recent.size]).toEqual([5, 4]);
    expect(recent.hasForgotten).toBe(false);
    recent.set('e', 3);
    expect(recent.hasForgotten).toBe(true);
  });
});
