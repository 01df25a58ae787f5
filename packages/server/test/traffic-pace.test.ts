import { describe, expect, it } from 'vitest';
import { Pace } from '../src/observe/pace.js';

const hour = 360;

/** Steps from 1000 on, with so many keys each. */
function paceOf(keys: readonly number[]): Pace {
  const pace = new Pace();
  for (const [index, each] of keys.entries()) pace.record(1000 + index, each);
  return pace;
}

describe('a quiet minute', () => {
  it('is unknown before there was one', () => {
    expect(new Pace().quiet(1000)).toBeUndefined();
    expect(paceOf([7]).quiet(1001)).toBe(7);
  });

  it('has more keys than one minute in ten', () => {
    expect(paceOf(Array.from({ length: 100 }, (_, i) => 100 - i)).quiet(1100)).toBe(11);
  });

  it('has none where one minute in ten had none, as steps that are left out', () => {
    const pace = paceOf(Array.from({ length: 90 }, () => 5));
    expect(pace.quiet(1090 + 9)).toBe(5);
    expect(pace.quiet(1090 + 11)).toBe(0);
    pace.record(1090 + 30, 5);
    expect(pace.quiet(1090 + 31)).toBe(0);
  });

  it('is one of the last hour', () => {
    const pace = paceOf([...Array.from({ length: 100 }, () => 1), ...Array.from({ length: hour - 37 }, () => 9)]);
    expect(pace.quiet(1000 + 100 + hour - 37)).toBe(1);
    pace.record(1000 + 100 + hour - 37, 9);
    expect(pace.quiet(1000 + 100 + hour - 36)).toBe(9);
    expect(pace.quiet(1e6)).toBe(0);
  });
});
