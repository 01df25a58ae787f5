import { millionth } from '../../limit.js';
import { StoreError } from '../../errors.js';
import { outcomeOf } from '../outcome.js';
import type { Check, Group } from '../store.js';
import type { Verdict } from './wire.js';

/** A batch as the take-buckets script takes it; see the header of `scripts/take-buckets.lua`. */
export interface BucketsCall {
  readonly keys: readonly string[];
  readonly args: [creditUnits: string, creditUs: string, cost: string, capacity: string];
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

/** The call for a batch of single plain checks of one bucket limit; undefined for any other, which the decide script takes. */
export function encodeBuckets(groups: readonly Group[], keyOf: (check: Check) => string): BucketsCall | undefined {
  const first = groups[0]?.checks[0];
  if (first?.limit.kind !== 'tokenBucket') return undefined;
  const keys: string[] = [];
  const seen = new Set<string>();
  for (const group of groups) {
    if (!isLike(group, first)) return undefined;
    for (const check of group.checks) {
      keys.push(keyOf(check));
      seen.add(check.key);
    }
  }
  if (seen.size < keys.length) return undefined;
  const { creditUnits, creditUs, capacity } = first.limit;
  const args = [creditUnits, creditUs, first.cost * millionth, capacity * millionth].map(String) as BucketsCall['args'];
  return { keys, args };
}

/** One verdict per group; `'odd'` for those that the decide script must look at. */
export function decodeBuckets(reply: unknown, groups: readonly Group[]): { now: number; verdicts: (Verdict | 'odd')[] } {
  if (!Array.isArray(reply)) throw new StoreError('the take-buckets script answered with something that is no list');
  const now = Number(reply[0]);
  const verdicts = groups.map(({ checks }, index): Verdict | 'odd' => {
    const said: unknown = reply[index + 1];
    const check = checks[0];
    if (said === 'O' || check === undefined) return 'odd';
    const used = Number(said);
    const allowed = used >= 0;
    const view = [allowed ? used : -1 - used];
    const outcome = outcomeOf({ check, cost: check.cost, now, view, allowed, taken: allowed ? check.cost : 0 });
    return { now, allowed, outcomes: [outcome], source: 'store', degraded: false };
  });
  return { now, verdicts };
}
