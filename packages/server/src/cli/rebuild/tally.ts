import type { LogLine, Taken } from './access-log.js';
import { isInPart, type Part } from './parts.js';

/** What became of the lines of a log. */
export interface Tally {
  lines: number;
  counted: number;
  outside: number;
  other: number;
  refused: number;
  faulty: number;
  /** The first of them. */
  readonly faults: { readonly line: number; readonly fault: string }[];
}

export const emptyTally = (): Tally => ({ lines: 0, counted: 0, outside: 0, other: 0, refused: 0, faulty: 0, faults: [] });

/** Faulty lines that are told one by one. */
const mostTold = 10;

export interface Wanted {
  /** Only this one, and it is what lines without a rule are about. */
  readonly rule: string | undefined;
  readonly part: Part | undefined;
}

/** The lines that are asked for, by their rules; tallies the others. */
export function wantedOf(lines: readonly LogLine[], { rule: only, part }: Wanted, tally: Tally): [rule: string, taken: Taken][] {
  const found: [string, Taken][] = [];
  const faulty = (line: number, fault: string): void => {
    tally.faulty += 1;
    if (tally.faults.length < mostTold) tally.faults.push({ line, fault });
  };
  for (const line of lines) {
    tally.lines += 1;
    if ('fault' in line) {
      faulty(line.number, line.fault);
      continue;
    }
    const { taken } = line;
    const rule = taken.rule ?? only;
    if (rule === undefined) faulty(line.number, 'rule: is missing; --rule NAME says which rule such lines are about');
    else if (!taken.allowed) tally.refused += 1;
    else if (only !== undefined && rule !== only) tally.other += 1;
    else if (part === undefined || isInPart(taken.key, part)) found.push([rule, taken]);
  }
  return found;
}
