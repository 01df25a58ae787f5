import { budgetOf } from '../e2e/exactness/budgets.js';
import type { CountedSpec } from '../e2e/exactness/history.js';
import type { Take } from '../e2e/exactness/level.js';
import type { Strike } from './faults/fault.js';
import type { Answer, Recording } from './recording.js';

/** The most that one budget ever had in use by what was admitted, and what it may have had. In units. */
export interface Peak {
  readonly budget: string;
  readonly units: number;
  readonly bound: number;
}

interface Budget {
  readonly name: string;
  readonly key: string;
  readonly spec: CountedSpec;
  /** By process. */
  readonly admitted: readonly (readonly Answer[])[];
}

/** What was admitted, by rule and key. */
function budgets(recordings: readonly Recording[], wanted: (answer: Answer, whenUnavailable?: string) => boolean): Budget[] {
  const found = new Map<string, { name: string; key: string; spec: CountedSpec; admitted: Answer[][] }>();
  recordings.forEach(({ answers, table }, process) => {
    for (const answer of answers) {
      const rule = table[answer.rule];
      if (!rule || !answer.allowed || !wanted(answer, rule.whenUnavailable)) continue;
      const name = `${answer.rule} ${answer.key}`;
      const budget = found.get(name) ?? { name, key: answer.key, spec: rule.spec, admitted: recordings.map(() => []) };
      found.set(name, budget);
      budget.admitted[process]?.push(answer);
    }
  });
  return [...found.values()];
}

/** Replays what was admitted through the reference of the exactness run, and says how much of the limit was surely in use at most. */
function replayed(spec: CountedSpec, answers: readonly Answer[], forgotUs = Infinity): number {
  const takes = answers.map(({ at, until }): Take => {
    const ends = BigInt(until ?? at + (spec.kind === 'concurrency' ? spec.expiresUs : 0));
    return { at: BigInt(at), cost: 1n, sureEnd: ends, possibleEnd: ends };
  });
  takes.sort((a, b) => Number(a.at - b.at));
  let reference = budgetOf(spec);
  let forgotten = false;
  let most = 0;
  for (const take of takes) {
    if (!forgotten && take.at > forgotUs) [reference, forgotten] = [budgetOf(spec), true];
    reference.advance(take.at);
    reference.take(take);
    most = Math.max(most, Number(reference.bounds().lo) / Number(reference.scale));
  }
  return most;
}

/** Windows that begin with a request begin with one that nobody may have heard of (its answer was late); so what belongs together is told by their ends. */
function inOneWindow(answers: readonly Answer[]): number {
  const ends = answers.map(({ at, resetAfterMs }) => at / 1000 + resetAfterMs).sort((a, b) => a - b);
  let [most, count, first] = [0, 0, -Infinity];
  for (const end of ends) {
    // Rounded up to milliseconds; another window is at least one window later.
    [count, first] = end - first < 50 ? [count + 1, first] : [1, end];
    most = Math.max(most, count);
  }
  return most;
}

const fromFirst = (spec: CountedSpec): boolean => spec.kind === 'fixedWindow' && spec.from === 'first-request';

/**
 * What the store admitted. Each script call is atomic, so as long as the store keeps its writes, no limit is passed by what it admitted, fault or
 * not; calls whose answer came too late only add to what it has counted. So the bound is the limit, but for what the fault made it forget:
 * - all, at a restart without persistence: counted anew from that moment;
 * - what no replica had, at a failover: at most what was admitted in the replication lag, on top of the limit.
 */
export function storePeaks(recordings: readonly Recording[], { forgot, lag, affected }: Strike): Peak[] {
  const stored = budgets(recordings, ({ source }) => source === 'store');
  return stored.map(({ name, key, spec, admitted }) => {
    const all = admitted.flat();
    const units = fromFirst(spec) ? inOneWindow(all) : replayed(spec, all, forgot === undefined ? Infinity : forgot * 1000);
    const lost = (answer: Answer): boolean => !!lag && answer.at >= lag.from * 1000 && answer.at <= lag.until * 1000;
    const lagged = affected === undefined || affected.has(key) ? all.filter(lost).length : 0;
    return { budget: name, units, bound: spec.size + lagged };
  });
}

/**
 * What the processes admitted by themselves under `whenUnavailable: 'local'`. Each of F processes decides by its share, the limit divided by F and
 * rounded down, but at least one unit; so together at most F * max(1, floor(limit / F)) <= max(limit, F) in one window, as the times stand in the
 * decisions: in any stretch of a process's own clock it admits no more than its share, so all together admit no more than the sum of the shares in
 * the stretch of the same numbers on all clocks. (A bucket's shares refill at the refill divided by F, together at the refill.) Windows that
 * begin with a request begin in each process at its own time: there, each process's largest window counts, and the sum of those is bounded.
 */
export function localPeaks(recordings: readonly Recording[]): Peak[] {
  const alone = budgets(recordings, ({ degraded }, whenUnavailable = 'local') => degraded && whenUnavailable === 'local');
  return alone.map(({ name, spec, admitted }) => {
    const bound = Math.max(spec.size, recordings.length);
    const units = fromFirst(spec)
      ? admitted.reduce((sum, answers) => sum + inOneWindow(answers), 0)
      : replayed({ ...spec, size: bound }, admitted.flat());
    return { budget: name, units, bound };
  });
}

/**
 * Both together, for what the outage let pass in all; not judged, as it follows from the two bounds: limit + max(limit, F) and, where the store
 * forgot, the limit once more (or the lag). It is far less as a share begins with what the store last said was left, and what was admitted alone
 * is charged to the store afterwards.
 */
export function togetherPeaks(recordings: readonly Recording[]): Peak[] {
  const all = budgets(recordings, ({ degraded, source }, whenUnavailable = 'local') =>
    degraded ? whenUnavailable === 'local' : source === 'store',
  ).filter(({ spec }) => !fromFirst(spec));
  return all.map(({ name, spec, admitted }) => ({ budget: name, units: replayed(spec, admitted.flat()), bound: spec.size }));
}
