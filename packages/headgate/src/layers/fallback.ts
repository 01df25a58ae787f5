import type { AttemptsState } from '../algorithms/consecutive-failures.js';
import type { Clock } from '../clock.js';
import { sizeOf, type CountedLimit } from '../limit.js';
import type { LocalMemoryStore } from '../stores/memory.js';
import { passes } from '../stores/outcome.js';
import type { Check, Group, GroupOutcome, Outcome } from '../stores/store.js';
import { attemptsInShare, shareOfAttempts, stricter } from './attempts.js';
import type { LastAnswers } from './last-answers.js';
import type { Ledger } from './ledger.js';

/** What a client is told to wait when nobody knows: the store may be back by then. */
const unknownWaitUs = 1_000_000;

/** This process's share of a limit: an equal part for each process of the fleet, at least 1 unit (0 stays 0). */
export function shareOf(limit: CountedLimit, fleet: number): CountedLimit {
  if (fleet === 1) return limit;
  if (limit.kind === 'consecutiveFailures') return shareOfAttempts(limit, fleet);
  const size = sizeOf(limit);
  const share = size === 0 ? 0 : Math.max(1, Math.floor(size / fleet));
  if (limit.kind === 'tokenBucket') return Object.freeze({ ...limit, capacity: share, creditUs: limit.creditUs * fleet });
  return Object.freeze({ ...limit, limit: share });
}

/** Shares of a fleet's size, each made once for as long as the size stays the same. */
function shares(fleetSize: () => number): (limit: CountedLimit) => CountedLimit {
  let size = 0;
  let known = new WeakMap<CountedLimit, CountedLimit>();
  return (limit) => {
    if (fleetSize() !== size) {
      size = fleetSize();
      known = new WeakMap();
    }
    let share = known.get(limit);
    if (share === undefined) {
      share = shareOf(limit, size);
      known.set(limit, share);
    }
    return share;
  };
}

export interface FallbackOptions {
  /** Decides by this process's share. */
  readonly local: Pick<LocalMemoryStore, 'ban' | 'unban' | 'decideNow' | 'adjust'>;
  /** The store's clock, as this process believes it to be. */
  readonly clock: Clock;
  readonly fleetSize: () => number;
  readonly answers: LastAnswers;
  readonly ledger: Ledger;
}

/** Decides without the shared store, and knows what the store is owed for it. */
export interface Fallback {
  /** Decides a group, each check by its rule's `whenUnavailable`. */
  decide(group: Group): GroupOutcome;
  /** The store has not counted this group, which was decided here. */
  owe(group: Group, decided: GroupOutcome, concerns?: (check: Check) => boolean): void;
}

const blank = { taken: 0, remaining: 0, resetAfterUs: 0, reason: 'store-unavailable' } as const;

/** The answer that a rule has ready for an outage; undefined if it decides by its share. */
function byPolicy(check: Check): Outcome | undefined {
  // A settle: charged later.
  if (check.least === 0) return { ...blank, allowed: true, taken: check.cost, retryAfterUs: 0 };
  if (check.whenUnavailable === 'allow') return { ...blank, allowed: true, retryAfterUs: 0 };
  if (check.whenUnavailable === 'refuse') return { ...blank, allowed: false, retryAfterUs: unknownWaitUs };
  return undefined;
}

/** Decides groups without the shared store, and keeps what passed on the ledger. */
export function fallback({ local, clock, fleetSize, answers, ledger }: FallbackOptions): Fallback {
  const share = shares(fleetSize);

  /**
   * A budget's share starts from what the store last said, so that an outage does not hand out what was used up before. It is only ever
   * lowered: several short outages in one window let no more pass than one long one.
   */
  function begin(check: Check, basis: CountedLimit): void {
    if (check.limit.kind === 'concurrency' || !ledger.open(check, basis)) return;
    const left = answers.left(check, clock.nowUs());
    if (left === undefined) return;
    const { rule, key } = check;
    // The memory store does its work at once; its promise only says so.
    if (left.bannedUntil > 0) {
      void local.ban({ rule, key, kinds: [basis.kind] }, left.bannedUntil - clock.nowUs()).catch(() => undefined);
      return;
    }
    // Lifted by another process since.
    void local.unban({ rule, key, kinds: [basis.kind] }).catch(() => undefined);
    const look = { rule, key, limit: basis, cost: 1 };
    if (check.limit.kind === 'consecutiveFailures' && left.attempts !== undefined) {
      const known = attemptsInShare(left.attempts, check.limit, fleetSize());
      local.adjust(look, (state) => stricter(state as AttemptsState, known));
      return;
    }
    const units = left.units === 0 ? 0 : Math.max(1, Math.floor(left.units / fleetSize()));
    const here = local.decideNow({ checks: [look], dry: true }).outcomes[0]?.remaining ?? 0;
    if (here > units) local.decideNow({ checks: [{ ...look, cost: here - units, least: 0 }] });
  }

  function decide(group: Group): GroupOutcome {
    const fixed = group.checks.map(byPolicy);
    const refused = !passes(
      group,
      fixed.map((outcome) => outcome?.allowed ?? true),
    );
    const counted = group.checks.filter((_, index) => fixed[index] === undefined).map((check) => ({ ...check, limit: share(check.limit) }));
    for (const [index, check] of group.checks.entries()) if (fixed[index] === undefined) begin(check, share(check.limit));
    const decided = counted.length === 0 ? undefined : local.decideNow({ checks: counted, dry: group.dry === true || refused });
    let next = 0;
    const outcomes = fixed.map((outcome) => outcome ?? (decided?.outcomes[next++] as Outcome));
    return {
      now: decided?.now ?? clock.nowUs(),
      allowed: !refused && (decided?.allowed ?? true),
      outcomes,
      source: 'fallback',
      degraded: true,
    };
  }

  function owe(group: Group, decided: GroupOutcome, concerns: (check: Check) => boolean = () => true): void {
    if (!decided.allowed || group.dry === true) return;
    group.checks.forEach((check, index) => {
      const { whenUnavailable, least, limit, cost } = check;
      if (limit.kind === 'concurrency' || whenUnavailable === 'refuse' || !concerns(check)) return;
      // Whether they failed is not known: nobody has a receipt to tell it by.
      if (limit.kind === 'consecutiveFailures' && whenUnavailable === 'allow' && least !== 0) return;
      const whole = whenUnavailable === 'allow' || least === 0;
      const units = whole ? cost : (decided.outcomes[index]?.taken ?? 0);
      if (units > 0) ledger.owe(check, whole ? limit : share(limit), units);
    });
  }

  return { decide, owe };
}
