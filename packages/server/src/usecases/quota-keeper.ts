import type { Clock, Limit, Limiter } from 'headgate';
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
  find(of: Pick<Checkpoint, 'rule' | 'key' | 'periodEnd'>): Promise<Pick<Checkpoint, 'used' | 'takenAt'> | undefined>;
}

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
}

export interface QuotaKeeper {
  observe(made: Made): void;
  /** A counter was set from outside: this is how it stands now, be it less. */
  adjusted(now: Made): void;
  /** Units came back; `Infinity`: all of them, as by a reset. */
  returned(of: Returned, units: number): void;
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
  /** When it began to look so; and what was known before, if it was. */
  freshAt: number;
  before: Pick<Checkpoint, 'used' | 'takenAt'> | undefined;
}

const checkpointOf = ({ rule, key, periodEnd, used, takenAt, lowered }: Counter): Checkpoint => ({
  ...{ rule, key, periodEnd, used, takenAt, lowered },
});

/** Checkpoints have whole milliseconds. */
const ms = (us: number): number => Math.floor(us / 1000);

/** What the store has lost, by what was saved and what is in mind, whichever is newer. */
function lostOf({ freshAt, before }: Counter, saved: Pick<Checkpoint, 'used' | 'takenAt'> | undefined): number {
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
export function quotaKeeper({ checkpoints, limiter, clock, onEvent }: QuotaKeeperOptions): QuotaKeeper {
  let changed = new Map<string, Counter>();
  const lookups = new Set<Promise<void>>();
  let dropped = 0;
  let closed = false;
  let cancel: () => void = () => undefined;
  let flushing: Promise<void> | undefined;
  let isAway = false;
  /** Counters of which units come back just now. */
  const lowering = new Map<string, number>();

  const nameOf = (rule: string, key: string): string => `${rule}\n${key}`;

  /** Tells once that they are away. */
  function failed(message: string): void {
    if (!isAway) onEvent({ type: 'failed', message });
    isAway = true;
  }

  /** Charges what was lost, beside what was used since the loss. */
  async function restore(counter: Counter): Promise<void> {
    const lost = lostOf(counter, await checkpoints.find(counter));
    isAway = false;
    const { rule, key, plan, periodEnd } = counter;
    if (lost > 0) {
      const reserved = await limiter().reserve(rule, key, { cost: 1, ...(plan === undefined ? undefined : { plan }) });
      if (reserved.decision.degraded) {
        // The store is away too: looked up again at the next saving.
        await reserved.cancel();
        return;
      }
      const isOver = periodEndOf(reserved.decision) !== periodEnd;
      if (reserved.allowed) await reserved.settle(isOver ? 0 : lost);
      if (reserved.allowed && !isOver) {
        counter.used += lost;
        onEvent({ type: 'restored', message: `rule ${JSON.stringify(rule)}: a quota counter was lost and is back from its checkpoint` });
      }
    }
    counter.suspect = false;
  }

  function keepInMind(work: Promise<void>): void {
    const looking = work.finally(() => lookups.delete(looking));
    lookups.add(looking);
  }

  function lookUp(counter: Counter): void {
    keepInMind(
      restore(counter).catch((error: unknown) => {
        // Looked up again at the next saving, and not saved before; unless its rule is not there any more.
        if (error instanceof TypeError) counter.suspect = false;
        failed(`a quota checkpoint could not be looked up: ${(error as Error).message}`);
      }),
    );
  }

  /** A counter that is lower than was saved. One at nothing is saved at once: the next check would look as if it had been lost. */
  async function lowerTo({ decision, limit: under, plan }: Made): Promise<void> {
    const { rule, key, limit, remaining, decidedAt: takenAt, degraded } = decision;
    if (degraded || under.kind !== 'quota') return;
    const counter: Counter = {
      ...{ rule, key, plan, periodEnd: endOf(decision, under), used: limit - remaining, takenAt },
      ...{ lowered: true, suspect: false, freshAt: takenAt, before: undefined },
    };
    const name = nameOf(rule, key);
    const known = changed.get(name);
    if (known === undefined && changed.size >= mostCounters) dropped += 1;
    else if (known === undefined || known.takenAt <= takenAt) changed.set(name, counter);
    if (counter.used === 0) await checkpoints.save([checkpointOf(counter)]);
  }

  /** Does it, and takes no check of that counter for one that was lost meanwhile. */
  function whileLowering({ rule, key }: Pick<Checkpoint, 'rule' | 'key'>, work: () => Promise<void>): void {
    const name = nameOf(rule, key);
    lowering.set(name, (lowering.get(name) ?? 0) + 1);
    keepInMind(
      work()
        .catch((error: unknown) => failed(`a quota checkpoint could not be lowered: ${(error as Error).message}`))
        .finally(() => {
          const others = (lowering.get(name) ?? 1) - 1;
          if (others > 0) lowering.set(name, others);
          else lowering.delete(name);
        }),
    );
  }

  async function lookLower({ rule, key, plan, limit }: Returned): Promise<void> {
    const decision = await limiter().peek(rule, key, plan === undefined ? undefined : { plan });
    await lowerTo({ decision, limit, plan });
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
        dropped += 1;
        return;
      }
      const suspect = allowed && used === cost && !lowering.has(name);
      counter = {
        ...{ rule, key, plan, periodEnd, used, takenAt: decidedAt, lowered: false },
        ...{ suspect, freshAt: decidedAt, before: undefined },
      };
      changed.set(name, counter);
      if (counter.suspect) lookUp(counter);
    } else if (decidedAt >= counter.takenAt) {
      const isFresh = allowed && used === cost && used < counter.used && !counter.lowered && !lowering.has(name);
      if (isFresh && !counter.suspect) {
        const { used: before, takenAt } = counter;
        Object.assign(counter, { suspect: true, freshAt: decidedAt, before: { used: before, takenAt } });
        lookUp(counter);
      }
      counter.used = used;
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
        await checkpoints.save(part.map(checkpointOf));
        isAway = false;
      } catch (error) {
        // Kept for the next time, unless it was seen again meanwhile.
        for (const counter of ready.slice(at)) {
          const name = nameOf(counter.rule, counter.key);
          const again = changed.get(name);
          if (again?.periodEnd === counter.periodEnd) again.lowered ||= counter.lowered;
          else if (again === undefined && changed.size < mostCounters) changed.set(name, counter);
        }
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
    adjusted: (made) => whileLowering(made.decision, () => lowerTo(made)),
    returned(of, units) {
      if (of.limit.kind !== 'quota' || units <= 0) return;
      const counter = changed.get(nameOf(of.rule, of.key));
      if (counter !== undefined && counter.used > units) {
        counter.used -= units;
        counter.lowered = true;
      } else whileLowering(of, () => lookLower(of));
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
      // One that is under way began before what was seen last.
      await flushing;
      await flush();
    },
  };
}
