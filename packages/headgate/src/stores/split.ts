import { receiptOf } from './outcome.js';
import type { Check, GiveBack, Group, GroupOutcome, Meeting, Outcome } from './store.js';

export interface SplitOptions {
  /** Where a check is decided; checks of one place are decided together. */
  readonly placeOf: (check: Check) => string;
  readonly decide: (group: Group) => Promise<GroupOutcome>;
  readonly giveBack: (item: GiveBack) => Promise<number>;
}

interface Part {
  readonly group: Group;
  readonly indices: number[];
}

function partsOf(group: Group, placeOf: SplitOptions['placeOf']): Part[] {
  const parts = new Map<string, { checks: Check[]; indices: number[] }>();
  group.checks.forEach((check, index) => {
    const place = placeOf(check);
    const part = parts.get(place) ?? { checks: [], indices: [] };
    part.checks.push(check);
    part.indices.push(index);
    parts.set(place, part);
  });
  return [...parts.values()].map(({ checks, indices }) => ({ group: { ...group, checks }, indices }));
}

/**
 * Decides a group that lies in several places, in parallel, and gives back what was taken if one of them refuses. Never over
 * the limit; two such groups may refuse each other, and others may see fewer units for a moment.
 */
export async function decideSplit(group: Group, { placeOf, decide, giveBack }: SplitOptions): Promise<GroupOutcome> {
  const parts = partsOf(group, placeOf);
  if (parts.length === 1) return decide(group);
  const settled = await Promise.allSettled(parts.map((part) => decide(part.group)));
  const outcomes: Outcome[] = [];
  const decided: GroupOutcome[] = [];
  let failure: Error | undefined;
  settled.forEach((result, number) => {
    if (result.status === 'rejected') failure ??= result.reason as Error;
    else {
      decided.push(result.value);
      parts[number]?.indices.forEach((index, i) => {
        const outcome = result.value.outcomes[i];
        // Each by the clock of the place it was taken from.
        if (outcome) outcomes[index] = outcome.taken === 0 ? outcome : { ...outcome, takenAt: outcome.takenAt ?? result.value.now };
      });
    }
  });
  const allowed = failure === undefined && decided.every((part) => part.allowed);
  const now = Math.max(0, ...decided.map((part) => part.now));
  const degraded = decided.some((part) => part.degraded);
  const source = degraded ? 'fallback' : 'store';
  if (allowed) return { now, allowed, outcomes, source, degraded };
  const taken = settled.flatMap((result, number) => {
    if (result.status === 'rejected') return [];
    return result.value.outcomes.flatMap((outcome, i) => {
      const check = parts[number]?.group.checks[i];
      const receipt = check && !check.countRefused ? receiptOf(check, outcome, result.value) : undefined;
      return receipt ? [{ receipt, units: receipt.taken }] : [];
    });
  });
  // Not waited for: the answer has a deadline, and what this process asks next comes after it.
  void Promise.allSettled(taken.map(giveBack));
  if (failure !== undefined) throw failure;
  const undone = outcomes.map((outcome) =>
    outcome.taken === 0 ? outcome : { ...outcome, taken: 0, remaining: outcome.remaining + outcome.taken },
  );
  return { now, allowed, outcomes: undone, source, degraded };
}

/** Counts who meets on keys that lie on several places, each place asked once, in parallel. */
export async function meetSplit(
  { keys, member, forUs }: Meeting,
  { placeOf, meet }: { placeOf: (key: string) => string; meet: (part: Meeting) => Promise<readonly number[]> },
): Promise<readonly number[]> {
  const counts = keys.map(() => 0);
  const places = new Map<string, number[]>();
  keys.forEach(({ key }, index) => {
    const place = placeOf(key);
    const there = places.get(place);
    if (there) there.push(index);
    else places.set(place, [index]);
  });
  await Promise.all(
    [...places.values()].map(async (indices) => {
      const counted = await meet({ member, forUs, keys: indices.flatMap((index) => keys[index] ?? []) });
      indices.forEach((index, i) => (counts[index] = counted[i] ?? 0));
    }),
  );
  return counts;
}
