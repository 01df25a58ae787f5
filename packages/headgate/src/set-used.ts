import { periodAt } from './calendar.js';
import { largestCount } from './algorithms/algorithm.js';
import { inputError, show } from './errors.js';
import type { Asked } from './requests.js';
import type { Check, GroupOutcome, Store, Ticket } from './stores/store.js';

/** Rejects where the store is away: what it counts cannot be set without it. */
const orReject = (): Ticket => ({ cancelled: false, sent: false, late: () => undefined });

const decide = (store: Store, check: Check, dry: boolean): Promise<GroupOutcome> =>
  store.decide({ checks: [check], ...(dry && { dry }) }, orReject());

/**
 * Sets what is used of a quota. It is first lowered to `used`, never below, and then raised to it, never above: whatever is counted, one of the
 * two changes nothing.
 *
 * @throws TypeError; StoreError if the store is away
 */
export async function setUsed(store: Store, { rule, key, limit }: Asked, used: number): Promise<void> {
  if (limit.kind !== 'quota')
    throw inputError('HEADGATE_BAD_CALL', `setUsed: rule ${show(rule)} is no quota; got a limit of ${limit.kind}`);
  const check: Check = { rule, key, limit, cost: 1 };
  const { now: takenAt } = await decide(store, check, true);
  const windowEnd = periodAt(limit, takenAt).endUs;
  const receipt = { rule, key, limit, taken: largestCount, takenAt, windowEnd, degraded: false };
  await store.giveBack({ receipt, units: largestCount, downTo: used });
  // A limit of `used` has room for just what is missing.
  if (used > 0) await decide(store, { ...check, limit: { ...limit, limit: used }, cost: used, least: 1 }, false);
}
