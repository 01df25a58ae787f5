import { algorithmOf } from '../../src/algorithms/index.js';
import { prolong, type ConcurrencyState } from '../../src/algorithms/concurrency.js';
import { outcomeOf } from '../../src/stores/outcome.js';
import type { Check, GiveBack, Group, GroupOutcome, Receipt, Target } from '../../src/stores/store.js';

interface Entry {
  state?: unknown;
  ban?: number;
}

/**
 * The reference: the pure algorithms over a map, one check after another on a copy that is kept only if the group passes. No
 * batching, no bounds, no expiry.
 */
export function modelStore(clock: { nowUs(): number }) {
  let entries = new Map<string, Entry>();
  const idOf = ({ rule, key }: { rule: string; key: string }, kind: string): string => JSON.stringify([rule, key, kind]);
  const entryOf = (map: Map<string, Entry>, check: Check): Entry => map.get(idOf(check, check.limit.kind)) ?? {};

  function take(map: Map<string, Entry>, check: Check, now: number) {
    const algorithm = algorithmOf(check.limit.kind);
    const entry = entryOf(map, check);
    if ((entry.ban ?? 0) > now) return { allowed: false, taken: 0 };
    const step = algorithm.take({ ...check, now, state: algorithm.current(entry.state, check.limit, now) });
    if (step.allowed || check.countRefused) map.set(idOf(check, check.limit.kind), { ...entry, state: step.state });
    return step;
  }

  /** A refused check leaves a state that reaches too far cut to what its limit allows. */
  function cut(map: Map<string, Entry>, check: Check, now: number): void {
    const algorithm = algorithmOf(check.limit.kind);
    const entry = entryOf(map, check);
    if ((entry.ban ?? 0) > now || entry.state === undefined) return;
    if (algorithm.overreaches(entry.state, check.limit, now)) {
      map.set(idOf(check, check.limit.kind), { ...entry, state: algorithm.current(entry.state, check.limit, now) });
    }
  }

  return {
    decide({ checks, dry }: Group): GroupOutcome {
      const now = clock.nowUs();
      const trial = new Map(entries);
      const steps = checks.map((check) => take(trial, check, now));
      const allowed = checks.every((check, index) => check.shadow || steps[index]?.allowed);
      if (!dry) {
        if (allowed) entries = trial;
        else for (const check of checks) if (check.countRefused) take(entries, check, now);
        for (const [index, check] of checks.entries()) if (!allowed || !steps[index]?.allowed) cut(entries, check, now);
      }
      const outcomes = checks.map((check, index) => {
        const { ban = 0, state } = entryOf(entries, check);
        const algorithm = algorithmOf(check.limit.kind);
        const same = checks.slice(0, index + 1).filter((other) => idOf(other, other.limit.kind) === idOf(check, check.limit.kind));
        const cost = same.reduce((sum, other) => sum + other.cost, 0);
        const view = algorithm.view({ state: algorithm.current(state, check.limit, now), limit: check.limit, now, cost });
        const step = steps[index];
        return outcomeOf({
          check,
          cost,
          now,
          view,
          allowed: step?.allowed === true,
          taken: allowed && !dry ? (step?.taken ?? 0) : 0,
          bannedUntil: ban > now ? ban : undefined,
        });
      });
      return { now, allowed, outcomes, source: 'store', degraded: false };
    },

    giveBack({ receipt, units, forget }: GiveBack): number {
      const id = idOf(receipt, receipt.limit.kind);
      const entry = entries.get(id);
      if (entry?.state === undefined) return 0;
      const { state, returned } = algorithmOf(receipt.limit.kind).giveBack({
        stored: entry.state,
        receipt,
        now: clock.nowUs(),
        units,
        forget,
      });
      if (returned > 0) entries.set(id, { ...entry, state });
      return returned;
    },

    extend(receipt: Receipt): boolean {
      const id = idOf(receipt, receipt.limit.kind);
      const entry = entries.get(id);
      if (receipt.limit.kind !== 'concurrency' || entry?.state === undefined || receipt.holder === undefined) return false;
      const now = clock.nowUs();
      const live = algorithmOf('concurrency').current(entry.state, receipt.limit, now) as ConcurrencyState;
      const state = prolong(live, receipt.holder, now + receipt.limit.expiresUs);
      if (state !== undefined) entries.set(id, { ...entry, state });
      return state !== undefined;
    },

    reset(target: Target): void {
      for (const kind of target.kinds) {
        const { ban = 0 } = entries.get(idOf(target, kind)) ?? {};
        entries.set(idOf(target, kind), { ban });
      }
    },

    ban(target: Target, us: number): void {
      for (const kind of target.kinds) {
        entries.set(idOf(target, kind), { ...entries.get(idOf(target, kind)), ban: us === 0 ? 0 : clock.nowUs() + us });
      }
    },
  };
}
