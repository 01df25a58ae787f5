import { millionth } from '../../limit.js';
import { StoreError } from '../../errors.js';
import { outcomeOf } from '../outcome.js';
import type { Check, Group, GroupOutcome } from '../store.js';
import type { BucketArgs } from './scripts.js';

/** A batch as the take-buckets script takes it, or with one key take-bucket; see their headers. */
export interface BucketsCall {
  readonly keys: readonly string[];
  readonly args: BucketArgs;
}

/** Whether a group is one plain check of a bucket, alike but for its key to another. */
const isLike = ({ checks, dry }: Group, { rule, limit, cost }: Check): boolean => {
  const check = checks[0];
  return (
    checks.length === 1 &&
    check !== undefined &&
    check.rule === rule &&
    check.limit === limit &&
    check.cost === cost &&
    dry === undefined &&
    check.least === undefined &&
    check.aheadUs === undefined &&
    check.countRefused === undefined &&
    check.shadow === undefined
  );
};

/** The keys of a batch; undefined if one is there twice or a group asks for more than a plain check. */
function keysOf(groups: readonly Group[], first: Check, keyOf: (check: Check) => string): string[] | undefined {
  const keys: string[] = [];
  const seen = new Set<string>();
  for (const group of groups) {
    if (!isLike(group, first)) return undefined;
    for (const check of group.checks) {
      keys.push(keyOf(check));
      seen.add(check.key);
    }
  }
  return seen.size < keys.length ? undefined : keys;
}

/** The call for a batch of single plain checks of one bucket limit; undefined for any other, which the decide script takes. */
export function encodeBuckets(groups: readonly Group[], keyOf: (check: Check) => string): BucketsCall | undefined {
  const group = groups[0];
  const first = group?.checks[0];
  if (group === undefined || first?.limit.kind !== 'tokenBucket') return undefined;
  const keys = groups.length > 1 ? keysOf(groups, first, keyOf) : isLike(group, first) ? [keyOf(first)] : undefined;
  if (keys === undefined) return undefined;
  const { creditUnits, creditUs, capacity } = first.limit;
  return { keys, args: [`${creditUnits}`, `${creditUs}`, `${first.cost * millionth}`, `${capacity * millionth}`] };
}

/** What a hot path said of one check; `'odd'` for what the decide script must look at. */
function verdictOf(check: Check | undefined, said: unknown, now: number): GroupOutcome | 'odd' {
  if (said === 'O' || check === undefined) return 'odd';
  const used = Number(said);
  const allowed = used >= 0;
  const bannedUntil = typeof said === 'string' && said.startsWith('B') ? Number(said.slice(1)) : undefined;
  const view = [allowed ? used : -1 - used];
  const outcome = outcomeOf({ check, cost: check.cost, now, view, allowed, taken: allowed ? check.cost : 0, bannedUntil });
  return { now, allowed, outcomes: [outcome], source: 'store', degraded: false };
}

/** One verdict per group, and whether one of them is odd; no `now` if the only check was. */
export interface BucketsReply {
  readonly now?: number;
  readonly verdicts: readonly (GroupOutcome | 'odd')[];
  readonly odd: boolean;
}

/** Decodes the one line of take-bucket. */
export function decodeBucket(reply: unknown, groups: readonly Group[]): BucketsReply {
  if (typeof reply !== 'string') throw new StoreError('the take-bucket script answered with something that is no text');
  const space = reply.indexOf(' ');
  if (space < 0) return { verdicts: ['odd'], odd: true };
  const now = Number(reply.slice(0, space));
  const verdict = verdictOf(groups[0]?.checks[0], reply.slice(space + 1), now);
  return { now, verdicts: [verdict], odd: verdict === 'odd' };
}

const [space, minus, zero] = [0x20, 0x2d, 0x30];

/** Reads a line of words, each with a space after it: whole numbers without a text for each, other words as they are. */
class Words {
  #at = 0;
  readonly #line: string;
  constructor(line: string) {
    this.#line = line;
  }

  next(): number | string {
    const line = this.#line;
    const begin = this.#at;
    if (begin === line.length) throw new StoreError('the take-buckets script answered for fewer checks than were asked');
    const negative = line.charCodeAt(begin) === minus;
    let number = 0;
    for (let at = negative ? begin + 1 : begin; at < line.length; at += 1) {
      const unit = line.charCodeAt(at);
      if (unit === space) {
        this.#at = at + 1;
        return negative ? -number : number;
      }
      const digit = unit - zero;
      if (digit < 0 || digit > 9) break;
      number = number * 10 + digit;
    }
    const found = line.indexOf(' ', begin);
    const end = found < 0 ? line.length : found;
    this.#at = Math.min(end + 1, line.length);
    return line.slice(begin, end);
  }
}

/** Decodes the line of take-buckets. */
export function decodeBuckets(reply: unknown, groups: readonly Group[]): BucketsReply {
  if (typeof reply !== 'string') throw new StoreError('the take-buckets script answered with something that is no text');
  const words = new Words(reply);
  const now = Number(words.next());
  let odd = false;
  const verdicts = groups.map(({ checks }) => {
    const verdict = verdictOf(checks[0], words.next(), now);
    if (verdict === 'odd') odd = true;
    return verdict;
  });
  return { now, verdicts, odd };
}
