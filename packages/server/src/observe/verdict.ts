import { crowdKind, type Crowd, type CrowdKind } from './crowd.js';
import type { Refusals } from './top-refused.js';

/**
 * `wrong-rule`: a large part of all keys is refused, as by a limit that is too low. `attack`: few keys are refused very often, or very many
 * new keys come once each. `mixed`: signs of both, or of neither though much is refused. `quiet`: nothing of it.
 */
export type Verdict = 'quiet' | 'wrong-rule' | 'attack' | 'mixed';

/** What a window has counted. */
export interface Counted {
  readonly checks: number;
  readonly refused: number;
  readonly unavailable: number;
  readonly distinctSeen: number;
  readonly distinctRefused: number;
  /** The keys refused most, the most first. */
  readonly top: readonly Refusals[];
}

export interface Judgement {
  readonly verdict: Verdict;
  /** Sentences with the numbers that led to it. */
  readonly reasons: readonly string[];
}

export const bounds = {
  /** Less than this is quiet: refusals, and their part of all checks. A limit is there to refuse. */
  refusals: 20,
  refusedPart: 0.01,
  /** Wide: so large a part of the keys, and at least so many, are refused. */
  widePart: 0.2,
  wideKeys: 10,
  /** Few: at most so large a part of the keys (or one key) has all refusals; or has half of them, and is at most so many. */
  fewPart: 0.05,
  fewKeys: 10,
  /** Often: so many refusals for each of the few, against what other keys were allowed. */
  often: 10,
  /** Of fewer keys none are "few". */
  keys: 5,
  /** Where neither wide nor few: so large a part of the checks refused is more than a limit's daily work. */
  muchPart: 0.1,
} as const;

const n = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 });
const percent = (part: number): string => `${(100 * part).toLocaleString('en', { maximumFractionDigits: part < 0.1 ? 1 : 0 })} %`;

/** The part of all keys that were refused, 0 to 1. */
export const shareOfKeys = ({ distinctSeen, distinctRefused }: Counted): number =>
  distinctSeen === 0 ? 0 : Math.min(1, distinctRefused / distinctSeen);

/** The part of all refusals that the keys refused most have, 0 to 1; no more than is sure. */
export const shareOfTop = ({ refused, top }: Counted): number =>
  refused === 0 ? 0 : top.slice(0, bounds.fewKeys).reduce((sum, key) => sum + key.refused, 0) / refused;

/** The fewest keys that have half of all refusals for sure; undefined if they are not few. */
function heaviest({ refused, top, distinctSeen }: Counted): { keys: number; sum: number } | undefined {
  const most = Math.min(bounds.fewKeys, Math.max(1, bounds.fewPart * distinctSeen));
  let sum = 0;
  for (const [index, key] of top.entries()) {
    sum += key.refused;
    if (index + 1 > most) break;
    if (sum >= refused / 2) return { keys: index + 1, sum };
  }
  return undefined;
}

/** Why it looks as if few keys were refused very often; undefined if it does not. */
function fewOften(counted: Counted): string | undefined {
  const { checks, refused, unavailable, distinctSeen, distinctRefused } = counted;
  if (distinctSeen < bounds.keys) return undefined;
  const allowed = (checks - refused - unavailable) / distinctSeen;
  const often = bounds.often * Math.max(1, allowed);
  const beside = `while a key was allowed ${n(allowed)} on average`;
  const heavy = heaviest(counted);
  if (heavy !== undefined && heavy.sum / heavy.keys >= often) {
    const who = heavy.keys === 1 ? 'one key has' : `${heavy.keys} keys have`;
    return `${who} ${percent(heavy.sum / refused)} of all refusals, ${n(heavy.sum / heavy.keys)} each, ${beside}`;
  }
  const all = refused / Math.max(1, distinctRefused);
  return shareOfKeys(counted) <= bounds.fewPart && all >= often
    ? `only ${percent(shareOfKeys(counted))} of the keys were refused, ${n(all)} times each, ${beside}`
    : undefined;
}

function crowdReason(kind: CrowdKind, { checks, keys, quiet }: Crowd): string {
  const before =
    quiet === undefined
      ? 'nothing is known of the time before, so it may be usual here'
      : `a quiet minute of the last hour had ${n(quiet)}`;
  const back = kind === 'flood' ? 'that do not come back' : 'that come back';
  return `about ${n(keys)} different keys in a minute, ${n(checks / keys)} checks each: new ones ${back}; ${before}`;
}

/** Tells a wrong rule from an attack. `crowd` is known of the last minute only. */
export function judge(counted: Counted, crowd?: Crowd): Judgement {
  const { checks, refused, unavailable, distinctSeen, distinctRefused } = counted;
  const reasons = [`${n(refused)} of ${n(checks)} checks were refused, about ${n(distinctRefused)} of ${n(distinctSeen)} keys`];
  if (unavailable > 0) reasons.push(`${n(unavailable)} further checks were refused because Redis was away: they are not judged`);
  const kind = crowd === undefined ? undefined : crowdKind(crowd);
  if (crowd !== undefined && kind !== undefined) reasons.push(crowdReason(kind, crowd));
  const flood = kind === 'flood';
  if (refused < bounds.refusals || refused < bounds.refusedPart * checks) return { verdict: flood ? 'attack' : 'quiet', reasons };

  const wide = shareOfKeys(counted) >= bounds.widePart && distinctRefused >= bounds.wideKeys;
  if (wide) reasons.push(`${percent(shareOfKeys(counted))} of all keys were refused: a limit that is too low does that`);
  const few = fewOften(counted);
  if (few !== undefined) reasons.push(few);
  if (wide) return { verdict: kind !== undefined || few !== undefined ? 'mixed' : 'wrong-rule', reasons };
  if (flood || few !== undefined) return { verdict: 'attack', reasons };
  if (refused < bounds.muchPart * checks) return { verdict: 'quiet', reasons };
  reasons.push(
    distinctSeen < bounds.keys
      ? 'so few keys were seen that their shares say nothing: one budget for all is at its limit, or one client is'
      : 'neither a large part of the keys nor a few of them stand out',
  );
  return { verdict: 'mixed', reasons };
}
