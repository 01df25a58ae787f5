import { budgetOf } from './budgets.js';
import { bracket, type Correction } from './corrections.js';
import type { CountedSpec, History } from './history.js';
import { budgetName, incoherence, judge, type Timeline, type Violation } from './judge.js';
import type { Take } from './level.js';

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

const sameRate = (a: CountedSpec, b: CountedSpec): boolean => JSON.stringify({ ...a, size: 0 }) === JSON.stringify({ ...b, size: 0 });

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
    for (let next = ends[e]; next?.at === at; next = ends[++e]) budget.end(next.effect);
    const from = c;
    while (checks[c]?.at === at) c += 1;
    if (c > from) judge(checks.slice(from, c), budget, fail);
    for (let next = begins[b]; next?.at === at; next = begins[++b]) {
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
 *   those with corrections but for the units of the brackets (some tens of milliseconds on a busy machine) that are open just then. How much may come back is checked for each.
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
    if (wrong !== undefined)
      violations.push({ fault: 'incoherent', budget: decision.checks.map(budgetName).join(' + '), at: decision.decidedAt, detail: wrong });
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
