import { describe, expect, it } from 'vitest';
import { crowdKind, type Crowd } from '../src/observe/crowd.js';
import { judge, shareOfTop, type Counted } from '../src/observe/verdict.js';

/** A window in which keys are refused alike, unless the case says otherwise. */
const counted = (case_: Partial<Counted>): Counted => ({
  checks: 10_000,
  refused: 0,
  unavailable: 0,
  distinctSeen: 1000,
  distinctRefused: 0,
  top: [],
  ...case_,
});
const verdict = (case_: Partial<Counted>) => judge(counted(case_)).verdict;
const top = (...refused: number[]) => refused.map((each, i) => ({ mask: `ip4:${i}`, refused: each, atMost: each }));

const crowd = (case_: Partial<Crowd>): Crowd => ({
  checks: 40_000,
  keys: 40_000,
  keysBefore: 10_000,
  keysTogether: 50_000,
  checksTogether: 1_000_000,
  quiet: 10_000,
  error: 0.07,
  ...case_,
});

describe('the bounds of the verdict', () => {
  it('begin at 20 refusals and one in a hundred checks', () => {
    expect(verdict({ checks: 100, distinctSeen: 30, refused: 19, distinctRefused: 15 })).toBe('quiet');
    expect(verdict({ checks: 100, distinctSeen: 30, refused: 20, distinctRefused: 15 })).toBe('wrong-rule');
    expect(verdict({ refused: 99, distinctRefused: 99, distinctSeen: 300 })).toBe('quiet');
    expect(verdict({ refused: 100, distinctRefused: 99, distinctSeen: 300 })).toBe('wrong-rule');
  });

  it('call a rule wrong from a fifth of the keys on, and ten of them', () => {
    expect(verdict({ refused: 900, distinctRefused: 199 })).toBe('quiet');
    expect(verdict({ refused: 900, distinctRefused: 200 })).toBe('wrong-rule');
    expect(verdict({ checks: 1000, refused: 90, distinctSeen: 20, distinctRefused: 9 })).toBe('quiet');
    expect(verdict({ checks: 1000, refused: 90, distinctSeen: 20, distinctRefused: 10 })).toBe('wrong-rule');
  });

  it('call it an attack where at most a twentieth of the keys is refused, ten times as often as others are allowed', () => {
    expect(verdict({ refused: 5000, distinctRefused: 50 })).toBe('attack');
    expect(verdict({ refused: 5000, distinctRefused: 51 })).toBe('mixed');
    expect(verdict({ refused: 4000, distinctRefused: 50, checks: 14_000 })).toBe('mixed');
  });

  it('call it an attack where at most ten keys have half of the refusals, whoever has the others', () => {
    const ten = top(...Array.from({ length: 10 }, () => 200));
    expect(verdict({ refused: 4000, distinctRefused: 100, top: ten })).toBe('attack');
    expect(verdict({ refused: 4001, distinctRefused: 100, top: ten })).toBe('mixed');
    expect(verdict({ refused: 4000, distinctRefused: 400, top: ten })).toBe('mixed');
    // Ten of a hundred keys are not few.
    const sixHave = top(...Array.from({ length: 10 }, () => 700));
    expect(verdict({ refused: 8000, distinctSeen: 100, distinctRefused: 15, top: sixHave })).toBe('mixed');
    expect(verdict({ refused: 8000, distinctSeen: 120, distinctRefused: 18, top: sixHave })).toBe('attack');
  });

  it('give the share of the ten keys refused most, no more than is sure', () => {
    expect(shareOfTop(counted({ refused: 4000, top: top(1000, 500) }))).toBe(0.375);
    expect(shareOfTop(counted({}))).toBe(0);
  });
});

describe('a crowd', () => {
  it('is a flood from 10,000 keys in a minute on, four times as many as in a quiet minute of the hour, most of them new', () => {
    expect(crowdKind(crowd({}))).toBe('flood');
    expect(crowdKind(crowd({ keys: 9999, quiet: 0 }))).toBeUndefined();
    expect(crowdKind(crowd({ quiet: 10_001 }))).toBeUndefined();
    expect(crowdKind(crowd({ keysTogether: 29_999 }))).toBeUndefined();
  });

  it('is a surge if its keys come back', () => {
    expect(crowdKind(crowd({ checks: 80_000 }))).toBe('flood');
    expect(crowdKind(crowd({ checks: 80_001 }))).toBe('surge');
  });

  it('is told by how seldom keys come back where the estimates cannot tell how many are new', () => {
    const long = { keysBefore: 2_000_000, keysTogether: 2_040_000 };
    expect(crowdKind(crowd({ ...long, checksTogether: 4_080_000 }))).toBe('flood');
    expect(crowdKind(crowd({ ...long, checksTogether: 4_100_000 }))).toBeUndefined();
  });

  it('needs 100,000 keys that hardly come back where nothing is known of the time before', () => {
    expect(crowdKind(crowd({ quiet: undefined, keys: 99_999, checks: 99_999 }))).toBeUndefined();
    expect(crowdKind(crowd({ quiet: undefined, keys: 100_000, checks: 120_000 }))).toBe('flood');
    expect(crowdKind(crowd({ quiet: undefined, keys: 100_000, checks: 120_001 }))).toBeUndefined();
  });
});
