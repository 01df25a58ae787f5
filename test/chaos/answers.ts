import type { Strike } from './faults/fault.js';
import type { Answer, Recording } from './recording.js';

/** What an answer may take beyond the deadline: the way through the event loop and a timer's rounding. */
const graceMs = 20;
/** A machine with two cores is late now and then by itself. */
const degradedByChance = 0.02;

export const few = (list: readonly string[], most = 3): string => list.slice(0, most).join('; ') + (list.length > most ? '; ...' : '');

/** The lags of the turns of its process's event loop that an answer waited through, the longest first. */
function lagsOf({ turns }: Recording, { asked, took }: Answer): number[] {
  const met = turns.filter(({ until, lag }) => until >= asked && until - lag <= asked + took);
  return met.map(({ lag }) => lag).sort((a, b) => b - a);
}

/**
 * By how much an answer came later than it may. Beside the deadline and the grace, it may be as late as its own process was: a timer waits for
 * the turn of the event loop that is under way, and before it degrades, what lies in the sockets is read, in one turn more.
 */
export function lateness(recording: Recording, answer: Answer, deadlineMs: number): number {
  const by = answer.took - deadlineMs - graceMs;
  if (by <= 0) return by;
  const [turn = 0, oneMore = 0] = lagsOf(recording, answer);
  return by - turn - oneMore;
}

/** Of one process: how long after the store served it was used for the first time. */
export function backAfter({ answers }: Recording, { undone, serves = 0, affected }: Strike): number {
  const used = answers.filter(({ source, at, key }) => source === 'store' && at > undone * 1000 && (affected?.has(key) ?? true));
  return Math.max(0, Math.min(...used.map(({ asked, took }) => asked + took)) - serves);
}

const showAnswer = ({ rule, key, took }: Answer): string => `${rule} ${key} after ${took.toFixed(1)} ms`;

/**
 * What was decided without the store while it was well. None that a stall held up may be: its reply was there, or on its way. Of the rest, a few
 * may be.
 */
export function withoutNeed(recordings: readonly Recording[], began: number, { well, undone }: Strike): string[] {
  if (!well) return [];
  const during = ({ asked }: Answer): boolean => asked >= began && asked < undone;
  const excused = ({ asked, took }: Answer): boolean => well.but.some(({ from, until }) => asked <= until && asked + took >= from);
  const stalled: Answer[] = [];
  const others: Answer[] = [];
  for (const recording of recordings) {
    for (const answer of recording.answers) {
      if (!answer.degraded || !during(answer) || excused(answer)) continue;
      ((lagsOf(recording, answer)[0] ?? 0) > well.stalledMs / 2 ? stalled : others).push(answer);
    }
  }
  const all = recordings.reduce((sum, { answers }) => sum + answers.filter(during).length, 0);
  const reasons: string[] = [];
  if (stalled.length > 0)
    reasons.push(`${stalled.length} stalled decisions without the store, which was well: ${few(stalled.map(showAnswer))}`);
  if (others.length > all * degradedByChance) {
    reasons.push(`${others.length} of ${all} decisions without the store, which was well: ${few(others.map(showAnswer))}`);
  }
  return reasons;
}
