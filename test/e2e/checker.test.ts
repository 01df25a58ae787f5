import { describe, expect, it } from 'vitest';
import { check } from './exactness/checker.js';
import type { CheckRecord, CorrectionRecord, CountedSpec, DecisionRecord, LimitSpec } from './exactness/history.js';

const bucket: CountedSpec = { kind: 'tokenBucket', size: 10, units: 2, perUs: 1_000_000 };
const fixed: CountedSpec = { kind: 'fixedWindow', size: 5, windowUs: 500_000, from: 'epoch' };
const first: CountedSpec = { kind: 'fixedWindow', size: 5, windowUs: 500_000, from: 'first-request' };
const sliding: CountedSpec = { kind: 'slidingWindow', size: 10, windowUs: 1_000_000 };
const log: CountedSpec = { kind: 'slidingLog', size: 3, windowUs: 1_000_000 };
const hourly: CountedSpec = { kind: 'quota', size: 3, period: 'hour' };
const slots: CountedSpec = { kind: 'concurrency', size: 1, expiresUs: 1_000_000 };

/** A whole hour, so that windows begin with it. */
const start = 1_800_000_000_000_000 - (1_800_000_000_000_000 % 3_600_000_000);

/** Writes a history by hand: `[ms, limit, cost, remaining]`; refused where remaining is written as text. */
class Story {
  readonly decisions: DecisionRecord[] = [];
  readonly corrections: CorrectionRecord[] = [];

  check(limit: LimitSpec, cost: number, allowed: boolean, remaining: number): CheckRecord {
    const never = limit.kind !== 'unlimited' && cost > limit.size;
    const retryAfterMs = allowed ? 0 : never ? Infinity : 1;
    const reason = allowed ? 'ok' : never ? 'cost-above-limit' : 'limited';
    return { rule: limit.kind, key: 'k', limit, cost, allowed, remaining, retryAfterMs, reason, degraded: false };
  }

  add(ms: number, kind: DecisionRecord['kind'], checks: CheckRecord[]): this {
    const id = this.decisions.length;
    this.decisions.push({ id, kind, allowed: checks.every((c) => c.allowed), decidedAt: start + Math.round(ms * 1000), after: 0, checks });
    return this;
  }

  pass(ms: number, limit: LimitSpec, cost: number, remaining: number): this {
    return this.add(ms, 'check', [this.check(limit, cost, true, remaining)]);
  }

  refuse(ms: number, limit: LimitSpec, cost: number, remaining: number): this {
    return this.add(ms, 'check', [this.check(limit, cost, false, remaining)]);
  }

  correct(verb: CorrectionRecord['verb'], decision: number, asked: number, done: number, [after, before]: [number, number]): this {
    this.corrections.push({ verb, decision, check: 0, asked, done, after: start + after * 1000, before: start + before * 1000 });
    return this;
  }

  get faults(): string[] {
    return [...new Set(check(this).violations.map(({ fault }) => fault))];
  }
}
const story = (): Story => new Story();

describe('a clean history passes', () => {
  it.each<[string, Story]>([
    [
      'bucket: a burst, then half a second a unit',
      story().pass(0, bucket, 10, 0).refuse(499.999, bucket, 1, 0).pass(500, bucket, 1, 0).pass(1500, bucket, 2, 0),
    ],
    ['bucket: a pass a millionth of a unit late', story().pass(0, bucket, 10, 0).refuse(500, bucket, 1, 0).pass(500.001, bucket, 1, 0)],
    ['fixed window', story().pass(0, fixed, 3, 2).refuse(499.999, fixed, 3, 2).pass(499.999, fixed, 2, 0).pass(500, fixed, 5, 0)],
    [
      'window from the first request',
      story().pass(100, first, 5, 0).refuse(599.999, first, 1, 0).pass(600, first, 5, 0).refuse(1099, first, 1, 0),
    ],
    ['sliding window', story().pass(900, sliding, 10, 0).refuse(1099.999, sliding, 1, 0).pass(1100, sliding, 1, 0)],
    ['sliding log', story().pass(0, log, 2, 1).pass(600, log, 1, 0).refuse(999.999, log, 1, 0).pass(1000, log, 2, 0)],
    ['quota', story().pass(0, hourly, 3, 0).refuse(3_599_999, hourly, 1, 0).pass(3_600_000, hourly, 3, 0)],
    ['concurrency: expiry', story().pass(0, slots, 1, 0).refuse(999.999, slots, 1, 0).pass(1000, slots, 1, 0)],
    ['concurrency: release', story().pass(0, slots, 1, 0).correct('release', 0, 0, 1, [5, 9]).refuse(6, slots, 1, 0).pass(8, slots, 1, 0)],
    ['a cost above the limit', story().refuse(0, fixed, 6, 5)],
    ['no limit', story().pass(0, { kind: 'unlimited' }, 9, Infinity)],
  ])('%s', (_, clean) => {
    expect(clean.faults).toEqual([]);
  });

  it('in any order within one microsecond', () => {
    expect(story().refuse(0, fixed, 3, 1).pass(0, fixed, 4, 1).faults).toEqual([]);
    expect(story().refuse(0, fixed, 3, 1).pass(0.001, fixed, 4, 1).faults).toContain('wrong-refusal');
  });

  it('with plans of other sizes on one key', () => {
    const pro = { ...fixed, size: 8 };
    expect(story().pass(0, fixed, 5, 0).refuse(1, fixed, 1, 0).pass(2, pro, 3, 0).refuse(3, pro, 1, 0).faults).toEqual([]);
  });

  it('with units given back, from the bracket on and not before', () => {
    const spent = (): Story => story().pass(0, fixed, 5, 0).correct('return', 0, 2, 2, [10, 20]);
    expect(spent().pass(15, fixed, 2, 0).faults).toEqual([]);
    expect(spent().refuse(15, fixed, 1, 0).refuse(16, fixed, 3, 2).faults).toEqual([]);
    expect(spent().pass(10, fixed, 1, 0).faults).toContain('over-admitted');
    expect(spent().refuse(20, fixed, 1, 2).faults).toContain('wrong-refusal');
    expect(spent().pass(15, fixed, 3, 0).faults).toContain('over-admitted');
  });

  it('with a charge', () => {
    const charged = (): Story => story().pass(0, bucket, 4, 6).correct('charge', 0, 8, 8, [10, 20]);
    expect(charged().pass(15, bucket, 6, 0).refuse(21, bucket, 1, 0).faults).toEqual([]);
    expect(charged().pass(20, bucket, 6, 0).faults).toContain('over-admitted');
  });
});

describe('one planted fault is found', () => {
  it.each<[string, string, Story]>([
    ['bucket, one unit too many', 'over-admitted', story().pass(0, bucket, 10, 0).pass(499.999, bucket, 1, 0)],
    ['bucket, an interval long after', 'over-admitted', story().pass(0, bucket, 4, 6).pass(3000, bucket, 5, 5).pass(3001, bucket, 6, 0)],
    ['fixed window', 'over-admitted', story().pass(0, fixed, 5, 0).pass(499.999, fixed, 1, 0)],
    ['window from the first request', 'over-admitted', story().pass(100, first, 5, 0).pass(599.999, first, 1, 0)],
    ['sliding window', 'over-admitted', story().pass(900, sliding, 10, 0).pass(1099.999, sliding, 1, 0)],
    ['sliding log', 'over-admitted', story().pass(0, log, 2, 1).pass(600, log, 1, 0).pass(999.999, log, 1, 0)],
    ['quota', 'over-admitted', story().pass(0, hourly, 3, 0).pass(3_599_999, hourly, 1, 0)],
    ['two on one slot', 'over-admitted', story().pass(0, slots, 1, 0).pass(999.999, slots, 1, 0)],
    ['two on one slot, in one microsecond', 'over-admitted', story().pass(0, slots, 1, 0).pass(0, slots, 1, 0)],
    [
      'a slot taken before its release',
      'over-admitted',
      story().pass(0, slots, 1, 0).correct('release', 0, 0, 1, [5, 9]).pass(5, slots, 1, 0),
    ],
    ['bucket, refused a moment too long', 'wrong-refusal', story().pass(0, bucket, 10, 0).refuse(500.001, bucket, 1, 1)],
    ['fixed window, refused across its end', 'wrong-refusal', story().pass(0, fixed, 5, 0).refuse(500, fixed, 1, 5)],
    ["first request, the window is not the epoch's", 'wrong-refusal', story().pass(100, first, 5, 0).refuse(600, first, 1, 5)],
    ['sliding window, refused', 'wrong-refusal', story().pass(900, sliding, 10, 0).refuse(1100, sliding, 1, 1)],
    ['sliding log, refused at the end of an entry', 'wrong-refusal', story().pass(0, log, 3, 0).refuse(1000, log, 1, 3)],
    [
      'a slot refused after its release',
      'wrong-refusal',
      story().pass(0, slots, 1, 0).correct('release', 0, 0, 1, [5, 9]).refuse(9, slots, 1, 1),
    ],
    ['remaining one too many', 'wrong-remaining', story().pass(0, fixed, 2, 4)],
    [
      'more came back than was taken',
      'gave-back-too-much',
      story().pass(0, fixed, 2, 3).correct('return', 0, 2, 2, [1, 2]).correct('return', 0, 2, 2, [3, 4]),
    ],
    ['what had flowed back came back', 'gave-back-too-much', story().pass(0, bucket, 4, 6).correct('return', 0, 4, 4, [1000, 1001])],
    ['into a window that was over', 'gave-back-too-much', story().pass(0, fixed, 2, 3).correct('return', 0, 2, 2, [501, 502])],
    [
      'a refused one gave back',
      'gave-back-too-much',
      story().pass(0, fixed, 5, 0).refuse(1, fixed, 1, 0).correct('return', 1, 1, 1, [2, 3]),
    ],
    ['a holder gone before its time', 'holder-lost', story().pass(0, slots, 1, 0).correct('release', 0, 0, 0, [5, 9])],
  ])('%s', (_, fault, planted) => {
    expect(planted.faults).toEqual([fault]);
  });

  it('a group that says it passed, though a check of it did not', () => {
    const told = story().add(0, 'group', [story().check(fixed, 1, true, 5), story().check(log, 4, false, 3)]);
    expect(told.faults).toEqual([]);
    const [decision] = told.decisions;
    expect(check({ decisions: [{ ...(decision as DecisionRecord), allowed: true }], corrections: [] }).violations[0]?.fault).toBe(
      'incoherent',
    );
  });

  it('a refused group that took a part', () => {
    const half = (): Story => {
      const told = story().pass(0, log, 3, 0);
      return told.add(1, 'group', [told.check(fixed, 2, true, 5), told.check(log, 1, false, 0)]);
    };
    expect(half().pass(2, fixed, 5, 0).faults).toEqual([]);
    // It took 2 of 5: the next sees 3 left, and is refused.
    expect(half().refuse(2, fixed, 4, 3).faults).toEqual(['wrong-refusal', 'wrong-remaining']);
    expect(half().pass(2, fixed, 1, 2).faults).toEqual(['wrong-remaining']);
  });

  it('a group refused for nothing', () => {
    const told = story();
    told.add(0, 'group', [told.check(fixed, 2, true, 5), told.check(log, 1, false, 3)]);
    expect(told.faults).toEqual(['wrong-refusal']);
  });

  it('a clock that went back behind what the process had seen', () => {
    const [decision] = story().pass(0, fixed, 1, 4).decisions as [DecisionRecord];
    expect(check({ decisions: [{ ...decision, after: decision.decidedAt + 1 }], corrections: [] }).violations[0]?.fault).toBe('incoherent');
  });

  it('counts degraded decisions, and holds them against nobody', () => {
    const [decision] = story().pass(0, fixed, 9, 0).decisions as [DecisionRecord];
    const degraded = { ...decision, checks: decision.checks.map((c) => ({ ...c, degraded: true })) };
    expect(check({ decisions: [degraded], corrections: [] })).toMatchObject({ degraded: 1, violations: [] });
  });
});
