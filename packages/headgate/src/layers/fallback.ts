import type { Clock } from '../clock.js';
import { sizeOf, type CountedLimit } from '../limit.js';
import { passes } from '../stores/outcome.js';
import type { Check, Group, GroupOutcome, Outcome, Store } from '../stores/store.js';

/** What a client is told to wait when nobody knows: the store may be back by then. */
const unknownWaitUs = 1_000_000;

/** This process's share of a limit: an equal part for each process of the fleet, at least 1 unit (0 stays 0). */
export function shareOf(limit: CountedLimit, fleet: number): CountedLimit {
  if (fleet === 1) return limit;
  const size = sizeOf(limit);
  const share = size === 0 ? 0 : Math.max(1, Math.floor(size / fleet));
  if (limit.kind === 'tokenBucket') return Object.freeze({ ...limit, capacity: share, creditUs: limit.creditUs * fleet });
  return Object.freeze({ ...limit, limit: share });
}

export interface FallbackOptions {
  /** Decides by this process's share. */
  readonly local: Store;
  readonly clock: Clock;
  readonly fleetSize: number;
}

/** Decides groups without the shared store, each check by its rule's `whenUnavailable`. */
export function fallback({ local, clock, fleetSize }: FallbackOptions): (group: Group) => Promise<GroupOutcome> {
  const shares = new WeakMap<CountedLimit, CountedLimit>();
  const share = (limit: CountedLimit): CountedLimit => {
    let found = shares.get(limit);
    if (found === undefined) {
      found = shareOf(limit, fleetSize);
      shares.set(limit, found);
    }
    return found;
  };
  const blank = { taken: 0, remaining: 0, resetAfterUs: 0, reason: 'store-unavailable' } as const;
  const byPolicy = (check: Check): Outcome | undefined => {
    if (check.least === 0) return { ...blank, allowed: true, retryAfterUs: 0 };
    if (check.whenUnavailable === 'allow') return { ...blank, allowed: true, retryAfterUs: 0 };
    if (check.whenUnavailable === 'refuse') return { ...blank, allowed: false, retryAfterUs: unknownWaitUs };
    return undefined;
  };

  return async (group) => {
    const fixed = group.checks.map(byPolicy);
    const refused = !passes(
      group,
      fixed.map((outcome) => outcome?.allowed ?? true),
    );
    const counted = group.checks.filter((_, index) => fixed[index] === undefined).map((check) => ({ ...check, limit: share(check.limit) }));
    const decided = counted.length === 0 ? undefined : await local.decide({ checks: counted, dry: group.dry === true || refused });
    let next = 0;
    const outcomes = fixed.map((outcome) => outcome ?? (decided?.outcomes[next++] as Outcome));
    return {
      now: decided?.now ?? clock.nowUs(),
      allowed: !refused && (decided?.allowed ?? true),
      outcomes,
      source: 'fallback',
      degraded: true,
    };
  };
}
