import { createHash } from 'node:crypto';
import type { Decision } from 'headgate';
import { periodEndOf } from './periods.js';

/** A key has used this part of a quota, for the first time in its period. */
export interface NearLimit {
  /** The same on every server for the same key, period and part. */
  readonly id: string;
  readonly rule: string;
  readonly key: string;
  /** Percent: 80 or 100. */
  readonly percent: number;
  readonly used: number;
  readonly limit: number;
  /** When the period ends, in milliseconds since 1970. */
  readonly resetsAt: number;
}

const parts = [80, 100] as const;

/** Events remembered so that each is told once: those of keys that are counted locally, whose decisions skip numbers. */
const mostRemembered = 100_000;

function eventOf(decision: Decision, percent: number, used: number): NearLimit {
  const { rule, key, limit } = decision;
  const resetsAt = periodEndOf(decision);
  const id = createHash('sha256')
    .update(JSON.stringify([rule, key, resetsAt, percent]))
    .digest('base64url');
  return { id, rule, key, percent, used, limit, resetsAt };
}

/**
 * Tells when a quota is nearly used up: of decisions made by the store exactly the one that crosses, on whichever server; of those counted
 * locally the first that is beyond, on each server. What is decided without the store tells nothing.
 */
export function nearLimits(tell: (event: NearLimit) => void): (decision: Decision) => void {
  const told = new Set<string>();

  function tellOnce(event: NearLimit): void {
    if (told.has(event.id)) return;
    if (told.size >= mostRemembered) told.clear();
    told.add(event.id);
    tell(event);
  }

  return (decision) => {
    const { limit, remaining, cost, wouldAllow, degraded, source } = decision;
    if (degraded || limit === 0 || !Number.isFinite(limit) || remaining * 5 > limit) return;
    const used = limit - remaining;
    const before = wouldAllow ? used - cost : used;
    for (const percent of parts) {
      const mark = (limit * percent) / 100;
      if (used < mark) continue;
      if (source === 'store' && before < mark) tell(eventOf(decision, percent, used));
      else if (source === 'lease' || source === 'sync') tellOnce(eventOf(decision, percent, used));
    }
  };
}
