import { setImmediate } from 'node:timers/promises';
import type { Clock, Decision, Limit, Limiter } from 'headgate';
import { lookups } from './checkpoint-lookups.js';
import { endOf, periodEndOf } from './periods.js';
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
  /** What was saved of each, in order. */
  find(all: readonly Pick<Checkpoint, 'rule' | 'key' | 'periodEnd'>[]): Promise<readonly (Seen | undefined)[]>;
}

type Seen = Pick<Checkpoint, 'used' | 'takenAt'>;

/** Whose units came back: a receipt, or a key that was reset. */
export interface Returned extends Pick<Checkpoint, 'rule' | 'key'> {
  readonly plan?: string | undefined;
  /** The limit that they were taken under. */
  readonly limit: Limit;
}

export interface QuotaKeeperOptions {
  readonly checkpoints: Checkpoints;
  /** The limiter of the rules in force. */
  readonly limiter: () => Limiter;
  readonly clock: Clock;
  /** Once when the checkpoints cannot be used any more, and for each counter that came back. */
  readonly onEvent: (event: { readonly type: 'failed' | 'restored'; readonly message: string }) => void;
  /** How a counter stands that came back. */
  readonly onRestored?: (now: Decision) => void;
}

/** What a keeper has done since it was made, and what waits. */
export interface KeeperStats {
  readonly saved: number;
  /** Checkpoints that could not be saved and were kept in mind for the next time, each time. */
  readonly failed: number;
  /** Changes that were not kept in mind, as there were too many. */
  readonly dropped: number;
  readonly lookedUp: number;
  readonly lookupsFailed: number;
  readonly restored: number;
  /** Counters changed and not saved yet. */
  readonly unsaved: number;
  /** Of them, those that are not saved before their checkpoint was looked up. */
  readonly lookupsWaiting: number;
  /** Milliseconds since the oldest change that is not saved; 0 if there is none. */
  readonly oldestUnsavedMs: number;
}

export interface QuotaKeeper {
  observe(made: Made): void;
  /** A counter was set from outside: this is how it stands now, be it less. */
  adjusted(now: Made): void;
  /** Units came back; `Infinity`: all of them, as by a reset. */
  returned(of: Returned, units: number): void;
  /** Does what may make a counter lower: a check meanwhile is not taken for the first after a loss. */
  whileLowering<T>(of: Pick<Checkpoint, 'rule' | 'key'>, work: () => Promise<T>): Promise<T>;
  stats(): KeeperStats;
  /** Saves now. */
  flush(): Promise<void>;
  /** Saves what is left. */
  close(): Promise<void>;
}

/** Between two savings. */
const everyMs = 60_000;
/** Counters that are kept in mind between two savings. */
const mostCounters = 100_000;
/** In one call: SQLite works in this process, where decisions have milliseconds. */
const savedAtOnce = 100;

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
  /** When it began to look so; and what was known before, if it was. */
  freshAt: number;
  before: Seen | undefined;
  /** When it changed first since it was saved, by our clock. */
  since: number;
}

const checkpointOf = ({ rule, key, periodEnd, used, takenAt, lowered }: Counter): Checkpoint => ({
  ...{ rule, key, periodEnd, used, takenAt, lowered },
});

/** Checkpoints have whole milliseconds. */
const ms = (us: number): number => Math.floor(us / 1000);

/** What the store has lost, by what was saved and what is in mind, whichever is newer. */
function lostOf({ freshAt, before }: Counter, saved: Seen | undefined): number {
  if (saved === undefined) return before?.used ?? 0;
  // Seen by another server since it began anew: that holds what this one has seen, and charged again would be charged twice.
  if (ms(saved.takenAt) > ms(freshAt)) return 0;
  if (before === undefined || ms(saved.takenAt) > ms(before.takenAt)) return saved.used;
  return Math.max(saved.used, before.used);
}

/**
 * Saves quota counters every minute, and brings them back when the store has lost them: a check that finds nothing used, though something
 * was saved for its period, has what was saved charged again. So a store that is wiped forgets at most what was used since the last saving, and
 * lets pass what comes while the saved count is looked up.
 */
export function quotaKeeper({ checkpoints, limiter, clock, onEvent, onRestored }: QuotaKeeperOptions): QuotaKeeper {
  let changed = new Map<string, Counter>();
  /** What lowers checkpoints just now. */
  const lowerings = new Set<Promise<void>>();
  const counts = { saved: 0, failed: 0, dropped: 0, lookedUp: 0, lookupsFailed: 0, restored: 0 };
  let closed = false;
  let cancel: () => void = () => undefined;
  let flushing: Promise<void> | undefined;
  let isAway = false;
  /** Counters of which units come back just now. */
  const lowering = new Map<string, number>();

  const nowMs = (): number => clock.nowUs() / 1000;
  const nameOf = (rule: string, key: string): string => `${rule}\n${key}`;

  /** Tells once that they are away. */
  function failed(message: string): void {
    if (!isAway) onEvent({ type: 'failed', message });
    isAway = true;
  }

  /** It is still in mind as it was, and nothing explains that it is low. */
  const isSuspect = (counter: Counter): boolean => {
    const name = nameOf(counter.rule, counter.key);
    return counter.suspect && changed.get(name) === counter && !lowering.has(name);
  };

  /** Charges what was lost, beside what was used since the loss. */
  async function restore(counter: Counter, saved: Seen | undefined): Promise<void> {
    isAway = false;
    counts.lookedUp += 1;
    if (!isSuspect(counter)) return;
    const lost = lostOf(counter, saved);
    const { rule, key, periodEnd } = counter;
    const plan = counter.plan === undefined ? undefined : { plan: counter.plan };
    if (lost > 0) {
      const reserved = await limiter().reserve(rule, key, { cost: 1, ...plan });
      if (reserved.decision.degraded) {
        // The store is away too: looked up again at the next saving.
        await reserved.cancel();
        return;
      }
      const isOver = periodEndOf(reserved.decision) !== periodEnd;
      if (reserved.allowed) await reserved.settle(isOver ? 0 : lost);
      if (reserved.allowed && !isOver) {
        counter.used += lost;
        counts.restored += 1;
        onEvent({ type: 'restored', message: `rule ${JSON.stringify(rule)}: a quota counter was lost and is back from its checkpoint` });
        onRestored?.(await limiter().peek(rule, key, plan));
      }
    }
    counter.suspect = false;
  }

  const suspects = lookups<Counter, Seen>({
    find: (counters) => checkpoints.find(counters),
    use: (counter, saved) =>
      restore(counter, saved).catch((error: unknown) => {
        // Its rule is not there any more: never looked up again, and saved as it is.
        if (error instanceof TypeError) counter.suspect = false;
        failed(`a quota counter could not be brought back: ${(error as Error).message}`);
      }),
    onFailed({ message }) {
      // Looked up again at the next saving, and not saved before.
      counts.lookupsFailed += 1;
      failed(`quota checkpoints could not be looked up: ${message}`);
    },
  });

  /** A counter that is lower than was saved. One at nothing is saved at once: the next check would look as if it had been lost. */
  async function lowerTo({ decision, limit: under, plan }: Made, isSet: boolean): Promise<void> {
    const { rule, key, limit, remaining, decidedAt: takenAt, degraded } = decision;
    if (degraded || under.kind !== 'quota') return;
    const name = nameOf(rule, key);
    const known = changed.get(name);
    const counter: Counter = {
      ...{ rule, key, plan, periodEnd: endOf(decision, under), used: limit - remaining, takenAt },
      ...{ lowered: true, suspect: false, freshAt: takenAt, before: undefined, since: known?.since ?? nowMs() },
    };
    const { periodEnd, used } = counter;
    // It may have been lost before units came back; what was set holds, whatever was lost.
    if (known?.suspect === true && known.periodEnd === periodEnd && !isSet) {
      if (known.takenAt <= takenAt) Object.assign(known, { used, takenAt });
      return;
    }
    if (known === undefined && changed.size >= mostCounters) counts.dropped += 1;
    else if (known === undefined || known.takenAt <= takenAt) changed.set(name, counter);
    // What was seen later is lower for the same reason.
    else if (known.periodEnd === periodEnd) Object.assign(known, { lowered: true, suspect: false });
    if (used === 0) await checkpoints.save([checkpointOf(counter)]);
  }

  async function whileLowering<T>({ rule, key }: Pick<Checkpoint, 'rule' | 'key'>, work: () => Promise<T>): Promise<T> {
    const name = nameOf(rule, key);
    lowering.set(name, (lowering.get(name) ?? 0) + 1);
    try {
      return await work();
    } finally {
      const others = (lowering.get(name) ?? 1) - 1;
      if (others > 0) lowering.set(name, others);
      else lowering.delete(name);
    }
  }

  /** Lowers a checkpoint; whoever made the counter lower does not wait for it. */
  function lower(of: Pick<Checkpoint, 'rule' | 'key'>, work: () => Promise<void>): void {
    const lowered = whileLowering(of, work)
      .catch((error: unknown) => failed(`a quota checkpoint could not be lowered: ${(error as Error).message}`))
      .finally(() => lowerings.delete(lowered));
    lowerings.add(lowered);
  }

  async function lookLower({ rule, key, plan, limit }: Returned, units: number): Promise<void> {
    const decision = await limiter().peek(rule, key, plan === undefined ? undefined : { plan });
    await lowerTo({ decision, limit, plan }, units === Infinity);
  }

  function observe({ decision, limit, plan }: Made): void {
    if (limit.kind !== 'quota' || decision.degraded || decision.source === 'note') return;
    const { rule, key, remaining, decidedAt, cost, allowed } = decision;
    const used = decision.limit - remaining;
    const name = nameOf(rule, key);
    const periodEnd = endOf(decision, limit);
    let counter = changed.get(name);
    if (counter === undefined || counter.periodEnd < periodEnd) {
      if (counter === undefined && changed.size >= mostCounters) {
        counts.dropped += 1;
        return;
      }
      const suspect = allowed && used === cost && !lowering.has(name);
      counter = {
        ...{ rule, key, plan, periodEnd, used, takenAt: decidedAt, lowered: false },
        ...{ suspect, freshAt: decidedAt, before: undefined, since: counter?.since ?? nowMs() },
      };
      changed.set(name, counter);
      if (counter.suspect) suspects.add(counter);
    } else if (decidedAt >= counter.takenAt) {
      const isFresh = allowed && used === cost && used < counter.used && !counter.lowered && !lowering.has(name);
      if (isFresh && !counter.suspect) {
        const { used: before, takenAt } = counter;
        Object.assign(counter, { suspect: true, freshAt: decidedAt, before: { used: before, takenAt } });
        suspects.add(counter);
      }
      counter.used = used;
      counter.takenAt = decidedAt;
      counter.plan = plan;
    }
  }

  /** One that was not saved, for the next time, unless it was seen again meanwhile. */
  function keep(counter: Counter): void {
    counts.failed += 1;
    const name = nameOf(counter.rule, counter.key);
    const again = changed.get(name);
    if (again === undefined && changed.size >= mostCounters) counts.dropped += 1;
    else if (again === undefined) changed.set(name, counter);
    else if (again.periodEnd === counter.periodEnd) {
      again.lowered ||= counter.lowered;
      again.since = counter.since;
    }
  }

  async function save(): Promise<void> {
    await Promise.all([suspects.soFar(), ...lowerings]);
    const counters = [...changed.values()];
    const ready = counters.filter(({ suspect }) => !suspect);
    const waiting = counters.filter(({ suspect }) => suspect);
    changed = new Map(waiting.map((counter) => [nameOf(counter.rule, counter.key), counter]));
    for (const counter of waiting) suspects.add(counter);
    for (let at = 0; at < ready.length; at += savedAtOnce) {
      const part = ready.slice(at, at + savedAtOnce);
      try {
        await setImmediate();
        await checkpoints.save(part.map(checkpointOf));
        counts.saved += part.length;
        isAway = false;
      } catch (error) {
        for (const counter of ready.slice(at)) keep(counter);
        failed(`quota checkpoints could not be saved: ${(error as Error).message}`);
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
    adjusted: (made) => lower(made.decision, () => lowerTo(made, true)),
    returned(of, units) {
      if (of.limit.kind !== 'quota' || units <= 0) return;
      const counter = changed.get(nameOf(of.rule, of.key));
      if (counter !== undefined && counter.used > units) {
        counter.used -= units;
        counter.lowered = true;
      } else lower(of, () => lookLower(of, units));
    },
    whileLowering,
    stats() {
      let oldest = Infinity;
      for (const { since } of changed.values()) oldest = Math.min(oldest, since);
      const oldestUnsavedMs = changed.size === 0 ? 0 : Math.max(0, nowMs() - oldest);
      return { ...counts, unsaved: changed.size, lookupsWaiting: suspects.size, oldestUnsavedMs };
    },
    flush,
    async close() {
      closed = true;
      cancel();
      // One that is under way began before what was seen last.
      await flushing;
      await flush();
    },
  };
}
