import { localPeaks, storePeaks, togetherPeaks, type Peak } from './admitted.js';
import { backAfter, few, lateness, withoutNeed } from './answers.js';
import type { Fault, Strike } from './faults/fault.js';
import type { Answer, Recording } from './recording.js';

export interface Row {
  readonly fault: string;
  readonly title: string;
  readonly slowestMs: number;
  readonly p999Ms: number;
  /** Answers that came later than they may, and the worst of them. */
  readonly late: number;
  readonly breaches: string;
  readonly sources: Readonly<Record<string, number>>;
  readonly errors: number;
  /** The budget that came nearest to its bound (or passed it by most), by what the store admitted, and by what processes admitted alone. */
  readonly store: Peak | undefined;
  readonly local: Peak | undefined;
  /** The budget that passed its limit by most, by both together. */
  readonly together: Peak | undefined;
  /** Milliseconds until every process used the store again. */
  readonly backMs: number | undefined;
  /** How much of the time the driver had to wait for a core, 0 to 1. */
  readonly busy: number;
  /** Why earlier runs of the fault failed, which were on too busy a machine. */
  readonly setAside: readonly string[];
  /** Why the row fails; empty if it passes. */
  readonly reasons: readonly string[];
}

export interface Evidence {
  readonly fault: Fault;
  readonly strike: Strike;
  /** When the fault began, in milliseconds of the wall clock. */
  readonly began: number;
  readonly recordings: readonly Recording[];
  readonly deadlineMs: number;
}

/** The bound is one for the 99.9th percentile. */
const lateOfAll = 0.001;
const backWithinMs = 1000;
/** At the end all is well again; a busy machine may still be late now and then. */
const degradedAtEnd = 0.1;

const nearest = (peaks: readonly Peak[]): Peak | undefined =>
  peaks.reduce<Peak | undefined>(
    (worst, peak) => (!worst || peak.units / peak.bound > worst.units / worst.bound ? peak : worst),
    undefined,
  );

const over = (who: string, peaks: readonly Peak[]): string[] => {
  const above = peaks.filter(({ units, bound }) => units > bound).sort((a, b) => b.units / b.bound - a.units / a.bound);
  return above.length === 0 ? [] : [`${who} over the bound in ${above.length} budgets: ${few(above.map(showPeak))}`];
};

export const showPeak = ({ budget, units, bound }: Peak): string => `${Math.round(units * 10) / 10}/${bound} ${budget}`;

/** Whether the load was one that could have shown anything. */
function proves({ strike, began, recordings }: Evidence): string[] {
  const all = recordings.flatMap(({ answers }) => answers);
  const stored = (when: (answer: Answer) => boolean, allowed: boolean): boolean =>
    all.some((answer) => answer.source === 'store' && answer.allowed === allowed && when(answer));
  const reasons: string[] = [];
  for (const allowed of [true, false]) {
    const what = allowed ? 'admitted' : 'refused';
    if (!stored(({ asked }) => asked < began, allowed)) reasons.push(`proves little: the store ${what} nothing before the fault`);
    if (!stored(({ at }) => at > strike.undone * 1000, allowed)) reasons.push(`proves little: the store ${what} nothing after the fault`);
  }
  if (strike.serves !== undefined && !all.some(({ degraded }) => degraded))
    reasons.push('proves little: nothing was decided without the store');
  return reasons;
}

/** Judges one fault by what all processes recorded. */
export function judge(evidence: Evidence): Omit<Row, 'busy' | 'setAside'> {
  const { fault, strike, recordings, deadlineMs } = evidence;
  const all = recordings.flatMap(({ answers }) => answers);
  const reasons = proves(evidence);

  const took = all.map((answer) => answer.took).sort((a, b) => a - b);
  const late = recordings
    .flatMap((recording) => recording.answers.map((answer) => ({ answer, by: lateness(recording, answer, deadlineMs) })))
    .filter(({ by }) => by > 0)
    .sort((a, b) => b.by - a.by);
  const listed = late.map(({ answer, by }) => `${answer.rule} ${answer.key} ${answer.took.toFixed(1)} ms, ${by.toFixed(1)} too late`);
  const breaches = late.length === 0 ? '' : `${late.length} answers too late: ${few(listed)}`;
  if (late.length > all.length * lateOfAll) reasons.push(breaches);
  const unanswered = recordings.reduce((sum, recording) => sum + recording.unanswered, 0);
  if (unanswered > 0) reasons.push(`${unanswered} checks were never answered`);

  const sources: Record<string, number> = {};
  for (const { source } of all) sources[source] = (sources[source] ?? 0) + 1;
  const degraded = all.filter((answer) => answer.degraded);
  reasons.push(...withoutNeed(recordings, evidence.began, strike));
  const counted = recordings.reduce((sum, { stats }) => sum + stats.degraded, 0);
  if (counted !== degraded.length) reasons.push(`stats() counts ${counted} degraded decisions, there were ${degraded.length}`);

  const errors = recordings.flatMap((recording) => recording.errors);
  if (errors.length > 0) reasons.push(`${errors.length} errors: ${few(errors.map((error) => error.split('\n', 2).join(' ')))}`);

  const [stored, local] = [storePeaks(recordings, strike), localPeaks(recordings)];
  reasons.push(...over('the store', stored), ...over('the processes alone', local));

  const backMs = strike.serves === undefined ? undefined : Math.max(...recordings.map((recording) => backAfter(recording, strike)));
  if (backMs !== undefined && !(backMs < backWithinMs)) reasons.push(`the store was used again after ${Math.round(backMs)} ms`);
  const end = Math.max(...all.map(({ asked }) => asked));
  const last = all.filter(({ asked }) => asked > end - 1000);
  const still = last.filter((answer) => answer.degraded).length;
  if (still > last.length * degradedAtEnd)
    reasons.push(`in the last second ${still} of ${last.length} decisions were made without the store`);

  return {
    fault: fault.name,
    title: fault.title,
    slowestMs: took.at(-1) ?? NaN,
    p999Ms: took[Math.floor(took.length * 0.999)] ?? NaN,
    late: late.length,
    breaches,
    sources,
    errors: errors.length,
    store: nearest(stored),
    local: nearest(local),
    together: nearest(togetherPeaks(recordings)),
    backMs,
    reasons,
  };
}
