import { budgetOf, type Budget, type Effect, type Take } from './budgets.js';
import type { CheckRecord, CountedSpec, DecisionRecord, History } from './history.js';
import { bracket, type Correction } from './corrections.js';

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

export interface Report {
  readonly decisions: number;
  readonly checks: number;
  readonly allowed: number;
  readonly refused: number;
  readonly degraded: number;
  readonly corrections: number;
  readonly budgets: number;
  readonly violations: readonly Violation[];
}

/** What happens to one budget. In one microsecond: effects that have ended, then the checks, then effects that begin. */
interface Timeline {
  readonly spec: CountedSpec;
  readonly checks: { readonly at: number; readonly record: CheckRecord; readonly take: Take | undefined }[];
  readonly begins: { readonly at: number; readonly effect: Effect; readonly done: number }[];
  readonly ends: { readonly at: number; readonly effect: Effect }[];
}

const sameRate = (a: CountedSpec, b: CountedSpec): boolean => JSON.stringify({ ...a, size: 0 }) === JSON.stringify({ ...b, size: 0 });
const budgetName = ({ rule, key, limit }: CheckRecord): string => `${rule} ${key} (${limit.kind})`;

/** Contradictions within a decision, for which nothing else need be known. */
function incoherence({ kind, allowed, decidedAt, after, checks }: DecisionRecord): string | undefined {
  if (allowed !== checks.every((check) => check.allowed)) return `the ${kind} says allowed ${allowed}, its checks say otherwise`;
  if (new Set(checks.map(budgetName)).size < checks.length) throw new Error('the checker takes no group with two checks of one budget');
  const counted = checks.some(({ limit }) => limit.kind !== 'unlimited');
  if (counted && decidedAt < after) return `decided at ${decidedAt}, asked after ${after}: the store's clock went back`;
  for (const { limit, cost, allowed: passed, reason, retryAfterMs } of checks) {
    const never = limit.kind !== 'unlimited' && cost > limit.size;
    const expected = passed ? 'ok' : never ? 'cost-above-limit' : 'limited';
    const wait = passed ? retryAfterMs === 0 : never ? retryAfterMs === Number.POSITIVE_INFINITY : retryAfterMs > 0 && Number.isFinite(retryAfterMs);
    if (reason !== expected || !wait) return `allowed ${passed}, cost ${cost}, yet "${reason}", retry after ${retryAfterMs} ms`;
    if (limit.kind === 'unlimited' && !passed) return 'an unlimited check was refused';
  }
  return undefined;
}

/** The checks of one budget in one microsecond: any order of them is good, but only of them. */
function judge(tied: Timeline['checks'], budget: Budget, fail: (fault: Violation['fault'], detail: string) => void): void {
  const { scale } = budget;
  const sizeOf = ({ limit }: CheckRecord): number => (limit as CountedSpec).size;
  const left = (record: CheckRecord, used: bigint): number => Math.max(0, Number((BigInt(sizeOf(record)) * scale - used) / scale));
  const tells = (record: CheckRecord, lo: bigint, hi: bigint): void => {
    const [fewest, most] = [left(record, hi), left(record, lo)];
    if (record.remaining < fewest || record.remaining > most) fail('wrong-remaining', `remaining ${record.remaining}, expected ${fewest} to ${most}`);
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
    if (!record.allowed && over <= 0n) fail('wrong-refusal', `cost ${record.cost} refused with ${show(-over)} to spare of ${sizeOf(record)}`);
    tells(record, before.lo, after.hi);
  }
}

/** Replays one budget from what was admitted, and holds every answer against it. */
function replay(name: string, timeline: Timeline, violations: Violation[]): void {
  const budget = budgetOf(timeline.spec);
  const { checks, begins, ends } = timeline;
  for (const list of [checks, begins, ends]) list.sort((a, b) => a.at - b.at);
  let [c, b, e] = [0, 0, 0];
  for (;;) {
    const at = Math.min(checks[c]?.at ?? Infinity, begins[b]?.at ?? Infinity, ends[e]?.at ?? Infinity);
    if (at === Infinity) return;
    const fail = (fault: Violation['fault'], detail: string): void => void violations.push({ fault, budget: name, at, detail });
    budget.advance(BigInt(at));
    for (let next; (next = ends[e])?.at === at; e += 1) budget.end(next.effect);
    const from = c;
    while (checks[c]?.at === at) c += 1;
    if (c > from) judge(checks.slice(from, c), budget, fail);
    for (let next; (next = begins[b])?.at === at; b += 1) {
      if (!budget.begin(next.effect) && next.done > 0) fail('gave-back-too-much', `${next.done} units into a window that was over`);
    }
  }
}

/**
 * Holds a history against a reference of its own (whole numbers, none of Headgate's code), budget by budget, in the order of `decidedAt`.
 *
 * - Nothing is over-admitted: the units admitted are replayed, and none may exceed the limit. For a bucket that is the virtual bucket, which
 *   says the same as "in every interval t at most capacity + refill x t", in one pass.
 * - Nothing is refused that the reference would have passed, but for a bucket's documented millionth per take. A group is allowed if all its
 *   checks are; each refused check of it must be refused by the reference, and each other one pass. As a refused group takes nothing there, one
 *   that took a part shows itself in the next answers, in `remaining` at the latest.
 * - Decisions of one microsecond (a script call) may have come in any order; the reference grants that per budget, and no more.
 * - What is given back or charged later has no `decidedAt`. Its process brackets it between two decisions on the store's clock; meanwhile it
 *   counts as returned where something passed and as not returned where something was refused. So rules without corrections are held exactly,
 *   those with corrections but for the few milliseconds of each bracket. How much may come back is checked for each.
 */
export function check({ decisions, corrections }: History): Report {
  const violations: Violation[] = [];
  const timelines = new Map<string, Timeline>();
  const takes = new Map<string, Correction['of']>();
  const counts = { checks: 0, allowed: 0, refused: 0, degraded: 0 };
  const timelineOf = (name: string, spec: CountedSpec): Timeline => {
    let timeline = timelines.get(name);
    if (timeline === undefined) timelines.set(name, (timeline = { spec, checks: [], begins: [], ends: [] }));
    if (!sameRate(timeline.spec, spec)) throw new Error(`the limits of ${name} may differ in size only`);
    return timeline;
  };

  for (const decision of decisions) {
    counts[decision.allowed ? 'allowed' : 'refused'] += 1;
    counts.checks += decision.checks.length;
    if (decision.checks.some(({ degraded }) => degraded)) {
      counts.degraded += 1;
      continue;
    }
    const wrong = incoherence(decision);
    if (wrong !== undefined) violations.push({ fault: 'incoherent', budget: decision.checks.map(budgetName).join(' + '), at: decision.decidedAt, detail: wrong });
    decision.checks.forEach((record, index) => {
      if (record.limit.kind === 'unlimited') return;
      const took = decision.kind !== 'peek' && decision.allowed;
      const take: Take | undefined = took ? { at: BigInt(decision.decidedAt), cost: BigInt(record.cost) } : undefined;
      if (take) takes.set(`${decision.id}.${index}`, { take, record, budget: budgetName(record) });
      timelineOf(budgetName(record), record.limit).checks.push({ at: decision.decidedAt, record, take });
    });
  }

  for (const { of, effects } of bracket({ takes, corrections, violations })) {
    const timeline = timelineOf(of.budget, of.record.limit as CountedSpec);
    for (const { effect, begin, end, done } of effects) {
      timeline.begins.push({ at: begin, effect, done });
      timeline.ends.push({ at: end, effect });
    }
  }
  for (const [name, timeline] of timelines) replay(name, timeline, violations);
  return { decisions: decisions.length, corrections: corrections.length, budgets: timelines.size, ...counts, violations };
}
