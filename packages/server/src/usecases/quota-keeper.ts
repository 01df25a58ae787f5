import type { Clock, Limiter } from 'headgate';
import { periodEndOf } from './periods.js';
import type { Made } from './service.js';

/** How much of a quota was used, as it was last seen. */
export interface Checkpoint {
  readonly rule: string;
  readonly key: string;
  /** The end of the period, in milliseconds since 1970. */
  readonly periodEnd: number;
  readonly used: number;
  /** The store's clock when it was seen, microseconds since 1970. */
  readonly takenAt: number;
  /** Units came back since it was saved last: only then may it fall. */
  readonly lowered: boolean;
}

/** Where checkpoints are kept: shared by all servers. */
export interface Checkpoints {
  /** Saves each if it is newer than the one that is there; one that is not `lowered` never lowers it. */
  save(checkpoints: readonly Checkpoint[]): Promise<void>;
  find(of: Pick<Checkpoint, 'rule' | 'key' | 'periodEnd'>): Promise<Pick<Checkpoint, 'used'> | undefined>;
}

export interface QuotaKeeperOptions {
  readonly checkpoints: Checkpoints;
  /** The limiter of the rules in force. */
  readonly limiter: () => Limiter;
  readonly clock: Clock;
  /** Once for each failure to save or look up, and for each counter that came back. */
  readonly onEvent: (event: { readonly type: 'failed' | 'restored'; readonly message: string }) => void;
}

export interface QuotaKeeper {
  observe(made: Made): void;
  /** A counter was set from outside: this is how it stands now, be it less. */
  adjusted(now: Made): void;
  /** Units of a decision came back. */
  returned(of: Pick<Checkpoint, 'rule' | 'key'>, units: number): void;
  /** Counters changed and not saved yet. */
  readonly unsaved: number;
  /** Changes that were not kept in mind, as there were too many. */
  readonly dropped: number;
  /** Saves now. */
  flush(): Promise<void>;
  /** Saves what is left. */
  close(): Promise<void>;
}

/** Between two savings. */
const everyMs = 60_000;
/** Counters that are kept in mind between two savings. */
const mostCounters = 100_000;
const savedAtOnce = 500;

interface Counter {
  rule: string;
  key: string;
  plan: string | undefined;
  periodEnd: number;
  used: number;
  takenAt: number;
  lowered: boolean;
  /** It looks as if the store had lost it, and what was saved has not been looked up yet. */
  suspect: boolean;
}

/**
 * Saves quota counters every minute, and brings them back when the store has lost them: a check that finds nothing used, though something
 * was saved for its period, has what was saved charged again. So a store that is wiped forgets at most what was used since the last saving, and
 * lets pass what comes while the saved count is looked up.
 */
export function quotaKeeper({ checkpoints, limiter, clock, onEvent }: QuotaKeeperOptions): QuotaKeeper {
  let changed = new Map<string, Counter>();
  const lookups = new Set<Promise<void>>();
  let dropped = 0;
  let closed = false;
  let cancel: () => void = () => undefined;
  let flushing: Promise<void> | undefined;

  const nameOf = (rule: string, key: string): string => `${rule}\n${key}`;

  /** Charges what was saved, beside what was used since the loss. */
  async function restore(counter: Counter): Promise<void> {
    const saved = await checkpoints.find(counter);
    counter.suspect = false;
    if (saved === undefined || saved.used < counter.used) return;
    const { rule, key, plan } = counter;
    const reserved = await limiter().reserve(rule, key, { cost: 1, ...(plan === undefined ? undefined : { plan }) });
    if (!reserved.allowed || reserved.decision.degraded) return;
    await reserved.settle(saved.used);
    counter.used += saved.used;
    onEvent({ type: 'restored', message: `rule ${JSON.stringify(rule)}: a quota counter was lost and is back from its checkpoint` });
  }

  function lookUp(counter: Counter): void {
    const looking = restore(counter)
      .catch((error: unknown) => {
        // Looked up again at the next saving, and not saved before.
        onEvent({ type: 'failed', message: `a quota checkpoint could not be looked up: ${(error as Error).message}` });
      })
      .finally(() => lookups.delete(looking));
    lookups.add(looking);
  }

  function observe({ decision, limit, plan }: Made): void {
    if (limit.kind !== 'quota' || decision.degraded || decision.source === 'note') return;
    const { rule, key, remaining, decidedAt, cost, allowed } = decision;
    const used = decision.limit - remaining;
    const name = nameOf(rule, key);
    const periodEnd = periodEndOf(decision);
    let counter = changed.get(name);
    if (counter === undefined || counter.periodEnd < periodEnd) {
      if (counter === undefined && changed.size >= mostCounters) {
        dropped += 1;
        return;
      }
      counter = { rule, key, plan, periodEnd, used, takenAt: decidedAt, lowered: false, suspect: allowed && used === cost };
      changed.set(name, counter);
      if (counter.suspect) lookUp(counter);
    } else if (decidedAt >= counter.takenAt) {
      const isFresh = allowed && used === cost && used < counter.used && !counter.lowered;
      if (isFresh && !counter.suspect) {
        counter.suspect = true;
        lookUp(counter);
      }
      counter.used = counter.suspect ? Math.max(counter.used, used) : used;
      counter.takenAt = decidedAt;
      counter.plan = plan;
    }
  }

  async function save(): Promise<void> {
    // One that is looked up twice at once would be charged twice.
    await Promise.all(lookups);
    const counters = [...changed.values()];
    const ready = counters.filter(({ suspect }) => !suspect);
    const waiting = counters.filter(({ suspect }) => suspect);
    changed = new Map(waiting.map((counter) => [nameOf(counter.rule, counter.key), counter]));
    for (const counter of waiting) lookUp(counter);
    for (let at = 0; at < ready.length; at += savedAtOnce) {
      const part = ready.slice(at, at + savedAtOnce);
      try {
        await checkpoints.save(
          part.map(({ rule, key, periodEnd, used, takenAt, lowered }) => ({ rule, key, periodEnd, used, takenAt, lowered })),
        );
      } catch (error) {
        // Kept for the next time, unless it was seen again meanwhile.
        for (const counter of ready.slice(at)) {
          const name = nameOf(counter.rule, counter.key);
          if (!changed.has(name) && changed.size < mostCounters) changed.set(name, counter);
        }
        onEvent({ type: 'failed', message: `quota checkpoints could not be saved: ${(error as Error).message}` });
        return;
      }
    }
  }

  function flush(): Promise<void> {
    flushing ??= save().finally(() => {
      flushing = undefined;
    });
    return flushing;
  }

  function schedule(): void {
    // Servers that started together do not save together.
    cancel = clock.after(everyMs * (0.9 + 0.2 * Math.random()), () => void flush().finally(() => closed || schedule()), { unref: true });
  }
  schedule();

  return {
    observe,
    adjusted({ decision, plan }) {
      const { rule, key, limit, remaining, decidedAt } = decision;
      const name = nameOf(rule, key);
      if (!changed.has(name) && changed.size >= mostCounters) {
        dropped += 1;
        return;
      }
      const seen = { periodEnd: periodEndOf(decision), used: limit - remaining, takenAt: decidedAt };
      changed.set(name, { rule, key, plan, ...seen, lowered: true, suspect: false });
    },
    returned({ rule, key }, units) {
      const counter = changed.get(nameOf(rule, key));
      if (counter === undefined || units <= 0) return;
      counter.used = Math.max(0, counter.used - units);
      counter.lowered = true;
    },
    get unsaved() {
      return changed.size;
    },
    get dropped() {
      return dropped;
    },
    flush,
    async close() {
      closed = true;
      cancel();
      await flush();
    },
  };
}
