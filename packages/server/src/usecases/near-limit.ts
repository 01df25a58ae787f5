import { createHash, createHmac, hkdfSync } from 'node:crypto';
import type { Decision } from 'headgate';
import { periodEndOf } from './periods.js';
import { Recent } from './recent.js';

/** A key has used this part of a quota, for the first time in its period. */
export interface NearLimit {
  /** The same on every server with the same secret for the same key, period and part; tells nobody else which key it is. */
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

export interface NearLimitsOptions {
  /** Makes ids: shared by all servers that should agree on them. */
  readonly secret: string | Buffer;
  /**
   * Told of each event. `repeats`: another server, or this one before it was started anew, may have told the same; who answers false to
   * that is told again by the key's next decision.
   */
  readonly tell: (event: NearLimit, repeats: boolean) => boolean;
  /** Whether a rule's units are taken in advance or counted apart, so that decisions skip numbers. */
  readonly countsLocally?: (rule: string) => boolean;
  /** Keys kept in mind, for tests: up to twice as many. */
  readonly most?: number;
}

export interface NearLimits {
  /** Looks at a decision about a quota. */
  decided(decision: Decision): void;
  /** Looks at how a quota stands after it was changed by no check: a settle, a bill, a counter that came back. */
  changed(now: Decision): void;
}

const parts = [80, 100] as const;

/** Keys of quotas kept in mind, each with its limit and what was told. */
const mostKeys = 100_000;

/** Longer ones are kept in mind as their hash, so that keys take bounded memory. */
const longestName = 256;

function nameOf({ rule, key }: Decision): string {
  const name = `${rule}\n${key}`;
  return name.length > longestName ? createHash('sha256').update(name).digest('base64url') : name;
}

/** What is known of a key under one rule. */
interface Known {
  /** When it was looked at last; `Infinity`: not known, and whatever it is beyond may not have been told. */
  limit: number;
  periodEnd: number;
  /** The greatest part that was told in this period; 0 if none. */
  told: number;
}

/** Whether what the decision says of its counter is true now: not so without the store, from memory, or under a ban. */
const isTelling = ({ degraded, source, reason, limit }: Decision): boolean =>
  !degraded && source !== 'note' && reason !== 'banned' && limit > 0 && Number.isFinite(limit);

/**
 * Tells when a quota is nearly used up, once for each key, period and part on one server. Where every unit is counted by the store, the check that
 * crosses tells, on whichever server. Beside it tells whoever sees a key beyond the mark and cannot know that it was told: of rules counted
 * locally, after a change that was no check, after the limit was lowered, and of a key that this server sees for the first time. Only keys
 * that it has lost out of mind, of more than 100,000, are not taken for new.
 */
export function nearLimits({ secret, tell, countsLocally = () => false, most = mostKeys }: NearLimitsOptions): NearLimits {
  const idKey = Buffer.from(hkdfSync('sha256', secret, 'headgate', 'event ids', 32));
  const keys = new Recent<Known>(most);

  const idOf = (...named: readonly (string | number)[]): string =>
    createHmac('sha256', idKey).update(JSON.stringify(named)).digest('base64url');

  function look(decision: Decision, isChanged: boolean): void {
    if (!isTelling(decision)) return;
    const { rule, key, limit, remaining, cost, wouldAllow, source } = decision;
    const used = limit - remaining;
    // Nothing is used, so that the decision does not know its period; and nothing is to be told.
    if (used === 0) return;
    const before = wouldAllow && !isChanged ? used - cost : used;
    const name = nameOf(decision);
    const periodEnd = periodEndOf(decision);
    const seen = keys.get(name);
    const known = seen ?? { limit: keys.hasForgotten ? limit : Infinity, periodEnd, told: 0 };
    if (seen === undefined) keys.set(name, known);
    if (known.periodEnd !== periodEnd) {
      known.periodEnd = periodEnd;
      known.told = 0;
    }
    const skips = isChanged || source !== 'store' || countsLocally(rule);
    for (const percent of parts) {
      const part = percent / 100;
      if (used < limit * part || known.told >= percent) continue;
      const crosses = before < limit * part;
      if (!crosses && !skips && before >= known.limit * part) continue;
      if (!tell({ id: idOf(rule, key, periodEnd, percent), rule, key, percent, used, limit, resetsAt: periodEnd }, !crosses)) {
        known.limit = Infinity;
        return;
      }
      known.told = percent;
    }
    known.limit = limit;
  }

  return { decided: (decision) => look(decision, false), changed: (now) => look(now, true) };
}
