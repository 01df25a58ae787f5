import type { Budget, Effect, Take } from './level.js';
import type { CheckRecord, CountedSpec, DecisionRecord } from './history.js';

/** One thing that an exact limiter would not have done. */
export interface Violation {
  readonly fault:
    | 'over-admitted' // more passed than the limit allows
    | 'wrong-refusal' // refused, though the reference would have passed it
    | 'wrong-pass' // said it would pass (peeked, or in a refused group), though the reference would have refused it
    | 'wrong-remaining' // a number of units left that no order of events explains
    | 'incoherent' // a decision that contradicts itself, or comes before what its process had already seen
    | 'gave-back-too-much' // returned what was not taken, had flowed back or whose window was over
    | 'holder-lost'; // a release or extension found no holder, though it surely held; or found one that surely did not
  readonly budget: string;
  readonly at: number;
  readonly detail: string;
}

/** What happens to one budget. In one microsecond: effects that have ended, then the checks, then effects that begin. */
export interface Timeline {
  readonly spec: CountedSpec;
  readonly checks: { readonly at: number; readonly record: CheckRecord; readonly take: Take | undefined }[];
  readonly begins: { readonly at: number; readonly effect: Effect; readonly done: number }[];
  readonly ends: { readonly at: number; readonly effect: Effect }[];
}

export const budgetName = ({ rule, key, limit }: CheckRecord): string => `${rule} ${key} (${limit.kind})`;

/** Contradictions within a decision, for which nothing else need be known. */
export function incoherence({ kind, allowed, decidedAt, after, checks }: DecisionRecord): string | undefined {
  if (allowed !== checks.every((check) => check.allowed)) return `the ${kind} says allowed ${allowed}, its checks say otherwise`;
  if (new Set(checks.map(budgetName)).size < checks.length) throw new Error('the checker takes no group with two checks of one budget');
  const counted = checks.some(({ limit }) => limit.kind !== 'unlimited');
  if (counted && decidedAt < after) return `decided at ${decidedAt}, asked after ${after}: the store's clock went back`;
  for (const { limit, cost, allowed: passed, reason, retryAfterMs } of checks) {
    const never = limit.kind !== 'unlimited' && cost > limit.size;
    const expected = passed ? 'ok' : never ? 'cost-above-limit' : 'limited';
    const wait = passed
      ? retryAfterMs === 0
      : never
        ? retryAfterMs === Number.POSITIVE_INFINITY
        : retryAfterMs > 0 && Number.isFinite(retryAfterMs);
    if (reason !== expected || !wait) return `allowed ${passed}, cost ${cost}, yet "${reason}", retry after ${retryAfterMs} ms`;
    if (limit.kind === 'unlimited' && !passed) return 'an unlimited check was refused';
  }
  return undefined;
}

/** The checks of one budget in one microsecond: any order of them is good, but only of them. */
export function judge(tied: Timeline['checks'], budget: Budget, fail: (fault: Violation['fault'], detail: string) => void): void {
  const { scale } = budget;
  const sizeOf = ({ limit }: CheckRecord): number => (limit as CountedSpec).size;
  const left = (record: CheckRecord, used: bigint): number => Math.max(0, Number((BigInt(sizeOf(record)) * scale - used) / scale));
  const tells = (record: CheckRecord, lo: bigint, hi: bigint): void => {
    const [fewest, most] = [left(record, hi), left(record, lo)];
    if (record.remaining < fewest || record.remaining > most)
      fail('wrong-remaining', `remaining ${record.remaining}, expected ${fewest} to ${most}`);
  };
  const overBy = (record: CheckRecord, used: bigint): bigint => used + BigInt(record.cost) * scale - BigInt(sizeOf(record)) * scale;
  const show = (units: bigint): string => `${Number(units) / Number(scale)} units`;

  const before = budget.bounds();
  // Takes only add, so with one limit any order will do; with several (plans) the smallest limit first fits if any order does.
  const takes = tied.filter(({ take }) => take !== undefined).sort((a, b) => sizeOf(a.record) - sizeOf(b.record));
  for (const { record, take } of takes) {
    const over = overBy(record, budget.bounds().lo);
    if (over > 0n) fail('over-admitted', `cost ${record.cost} passed, ${show(over)} above ${sizeOf(record)}`);
    budget.take(take as Take);
  }
  const after = budget.bounds();
  for (const { record, take } of tied) {
    if (take !== undefined) {
      tells(record, before.lo + take.cost * scale, after.hi);
      continue;
    }
    // Looked only, or refused: at the end of the microsecond most is used, at its beginning least.
    const over = overBy(record, record.allowed ? before.lo : after.hi);
    if (record.allowed && over > 0n) fail('wrong-pass', `cost ${record.cost} would pass, it says, ${show(over)} above ${sizeOf(record)}`);
    if (!record.allowed && over <= 0n)
      fail('wrong-refusal', `cost ${record.cost} refused with ${show(-over)} to spare of ${sizeOf(record)}`);
    tells(record, before.lo, after.hi);
  }
}
