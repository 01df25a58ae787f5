import { sizeOf, type CountedLimit } from '../limit.js';
import { spanUs } from '../mode.js';
import { receiptOf } from '../stores/outcome.js';
import type { Check, GroupOutcome, LoneOutcome, Outcome, Receipt, Target, Ticket } from '../stores/store.js';
import { Heat } from './heat.js';
import { Lease, leaseUs } from './lease.js';
import type { CounterOptions, LocalCounter } from './local-counter.js';
import { PerKey } from './per-key.js';

/** A bucket that is full again sooner is asked check by check: a process could not wait for its refill without losing some of it. */
const smallestBucketUs = 50_000;
/** A shorter window would be over before a lot of it is spent. */
const shortestWindowUs = 200_000;

const sweepMs = 100;

/** Checks a second from which a key under `auto` is leased, and below which it is not any more. */
const [hotFrom, calmBelow] = [100, 50];
/** A key has been leased for so long before it is said to be calm. */
const calmAfterUs = 500_000;

const canLease = (limit: CountedLimit, cost: number): boolean =>
  cost <= sizeOf(limit) && spanUs(limit) >= (limit.kind === 'tokenBucket' ? smallestBucketUs : shortestWindowUs);

/** Whether a key under `auto` is to be exact again. */
const isCalm = (lease: Lease, { mode }: Check, now: number): boolean =>
  mode === 'auto' && lease.perSecond < calmBelow && lease.openedAt + calmAfterUs <= now;

/** What those that wait for a lot need: in all, and one of them at least. */
interface Wait {
  need: number;
  least: number;
  /** When the first of them began to wait, by `performance.now()`; undefined if nobody does. */
  since: number | undefined;
}

/** Counts by leases: units taken in advance, spent here, and given back if they are not needed. */
export class Leases implements LocalCounter {
  readonly #options: CounterOptions;
  readonly #leases = new PerKey<Lease>();
  /** In the order in which they were asked for. */
  readonly #queue = new Set<Lease>();
  readonly #waits = new Map<Lease, Wait>();
  /** Made when it is first needed: by groups, and under `auto`. */
  #heat: Heat | undefined;
  #sweeping = false;
  #closed = false;
  /** Checks that were decided exactly, as too many keys were leased. */
  dropped = 0;

  constructor(options: CounterOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#queue.size;
  }

  take(check: Check, now: number): LoneOutcome | undefined {
    const lease = this.#leases.find(check);
    const outcome = lease?.take(check.cost, now);
    if (lease === undefined || outcome === undefined) return undefined;
    if (outcome.allowed && lease.runsOut(now) && !isCalm(lease, check, now)) void this.#ask(lease, now).catch(() => undefined);
    return outcome;
  }

  holderOf(check: Check): Lease | undefined {
    return this.#leases.find(check);
  }

  putBack(lease: Lease, outcome: Outcome, now: number): void {
    // Of before a reset, it must not come back after it.
    if (lease.forgotten) return;
    for (const receipt of lease.putBack(outcome, now)) void this.#giveBack(receipt);
  }

  /** Asks for a lot that the check has its part of; undefined if it is to be decided by the store itself. */
  wait(check: Check, now: number, since: number): Promise<void> | undefined {
    const { limit, cost, mode } = check;
    if (this.#closed || !canLease(limit, cost)) return undefined;
    let lease = this.#leases.find(check);
    if (lease === undefined) {
      lease = mode === 'auto' ? undefined : this.#open(check, now);
      if (lease === undefined) return undefined;
    } else if (isCalm(lease, check, now)) {
      this.#close(lease);
      return undefined;
    }
    const wait = this.#waits.get(lease);
    if (wait !== undefined) {
      wait.need += cost;
      wait.least = Math.min(wait.least, cost);
      wait.since = Math.min(wait.since ?? since, since);
      return lease.asking;
    }
    // One is on its way that this check is no part of: what it brings may be enough.
    if (lease.asking !== undefined) return lease.asking;
    return this.#askFor(lease, cost, since);
  }

  /** A hot key whose checks the store decides (groups, `auto`) is leased from now on. */
  told(check: Check, { degraded, outcomes }: GroupOutcome): void {
    // A refusal has said when to come again: a pause here must not outlast that.
    if (degraded || outcomes[0]?.taken === 0 || this.#closed || !canLease(check.limit, check.cost)) return;
    const now = this.#options.clock.nowUs();
    this.#heat ??= new Heat(hotFrom);
    const isHot = this.#heat.isHot(check, now);
    const lease = this.#leases.find(check) ?? (isHot ? this.#open(check, now) : undefined);
    lease?.spentElsewhere(check.cost);
    if (lease !== undefined && isHot && lease.mayAsk(now)) void this.#ask(lease, now).catch(() => undefined);
  }

  /** Gives back what is in hand. */
  async flush(target: Pick<Target, 'rule' | 'key'>): Promise<void> {
    for (const lease of this.#leases.of(target)) this.#close(lease);
  }

  forget(target: Pick<Target, 'rule' | 'key'>): void {
    for (const lease of this.#leases.of(target)) {
      lease.forgotten = true;
      this.#close(lease);
    }
  }

  /** Gives everything back, also what is still on its way. */
  async close(): Promise<void> {
    this.#closed = true;
    const leases = [...this.#queue];
    await Promise.allSettled(leases.flatMap(({ asking }) => asking ?? []));
    const now = this.#options.clock.nowUs();
    await Promise.all(leases.flatMap((lease) => lease.takeAll(now)).map((receipt) => this.#giveBack(receipt)));
    for (const lease of leases) this.#leases.remove(lease);
    this.#queue.clear();
  }

  #open(check: Check, now: number): Lease | undefined {
    if (this.#queue.size >= this.#options.max) {
      this.dropped += 1;
      return undefined;
    }
    const lease = new Lease(check, now);
    this.#leases.add(lease);
    this.#queue.add(lease);
    this.#sweepSoon();
    return lease;
  }

  #close(lease: Lease): void {
    this.#leases.remove(lease);
    this.#queue.delete(lease);
    const now = this.#options.clock.nowUs();
    for (const receipt of lease.takeAll(now)) if (!lease.forgotten) void this.#giveBack(receipt);
  }

  /** Asks at the end of this turn of the event loop, for all that wait by then. */
  #askFor(lease: Lease, cost: number, since: number): Promise<void> {
    const wait: Wait = { need: cost, least: cost, since };
    this.#waits.set(lease, wait);
    lease.asking = new Promise<void>((resolve, reject) => {
      process.nextTick(() => {
        this.#waits.delete(lease);
        lease.asking = undefined;
        this.#ask(lease, this.#options.clock.nowUs(), wait).then(resolve, reject);
      });
    });
    return lease.asking;
  }

  #ask(lease: Lease, now: number, { need, least, since }: Wait = { need: 0, least: 1, since: undefined }): Promise<void> {
    const asked = lease.toAsk(need, least, now);
    // Behind the others: its lots end last.
    this.#queue.delete(lease);
    this.#queue.add(lease);
    const check = { ...lease.check, cost: asked.cost, least: asked.least };
    const ticket: Ticket = {
      cancelled: false,
      sent: false,
      late: (answer) => this.#return(lease, check, answer),
      ...(since !== undefined && { since }),
    };
    lease.asking = this.#options.store
      .decide({ checks: [check] }, ticket)
      .then((answer) => {
        // Closed meanwhile, it has nobody who would spend it.
        if (!this.#queue.has(lease)) return this.#return(lease, check, answer);
        const answeredAt = this.#options.clock.nowUs();
        lease.answered(asked, answer, answeredAt);
        for (const receipt of lease.takeEnded(answeredAt)) void this.#giveBack(receipt);
      })
      .finally(() => {
        lease.asking = undefined;
      });
    return lease.asking;
  }

  /** What came too late to be spent goes back, unless the counter that it was taken from is no more. */
  #return(lease: Lease, check: Check, { now, outcomes }: GroupOutcome): void {
    const receipt = outcomes[0] && receiptOf(check, outcomes[0], { now, degraded: false });
    if (receipt !== undefined && !lease.forgotten) void this.#giveBack(receipt);
  }

  async #giveBack(receipt: Receipt): Promise<void> {
    try {
      await this.#options.store.giveBack({ receipt, units: receipt.taken });
    } catch {
      this.#options.onLost();
    }
  }

  #sweepSoon(): void {
    if (this.#sweeping || this.#closed) return;
    this.#sweeping = true;
    this.#options.clock.after(sweepMs, () => this.#sweep(), { unref: true });
  }

  /** Closes the leases that nobody asked for in the time of a lease: their units go back. */
  #sweep(): void {
    this.#sweeping = false;
    const now = this.#options.clock.nowUs();
    for (const lease of this.#queue) {
      if (lease.askedAt + leaseUs > now) break;
      if (lease.asking === undefined) this.#close(lease);
    }
    if (this.#queue.size > 0) this.#sweepSoon();
  }
}
