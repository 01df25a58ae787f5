import { receiptOf } from '../stores/outcome.js';
import type { Check, GroupOutcome, LoneOutcome, Outcome, Target, Ticket } from '../stores/store.js';
import { isAlike } from './alike.js';
import type { CounterOptions, LocalCounter } from './local-counter.js';
import { PerKey } from './per-key.js';
import { Tally } from './tally.js';

/** A process counts as one of those that count on a key for so many intervals after it said so. */
const intervalsSeen = 3;
/** Keys said in one call. */
const keysAtOnce = 64;
/** Keys told in one turn of the event loop: more would hold it up. */
const keysInTurn = 512;

export interface SyncOptions extends CounterOptions {
  /** Processes that share the store: those on a key, as long as that is not known. */
  readonly fleetSize: () => number;
  /** This process, as the others know it. */
  readonly member?: string;
}

const nothing = (): void => undefined;

/** Whether a check is counted on this tally: of its limit, at its interval. */
const isOf = ({ check, intervalUs }: Tally, { limit, mode }: Check): boolean =>
  isAlike(check.limit, limit) && typeof mode === 'object' && mode.syncUs === intervalUs;

/** Counts locally, and exchanges totals with the store once in an interval. */
export class Sync implements LocalCounter {
  readonly #options: SyncOptions;
  readonly #member: string;
  readonly #tallies = new PerKey<Tally>();
  /** Intervals whose exchange is due. */
  readonly #timers = new Map<number, () => void>();
  #closed = false;
  dropped = 0;

  constructor(options: SyncOptions) {
    this.#options = options;
    this.#member = options.member ?? crypto.randomUUID();
  }

  get size(): number {
    return this.#tallies.size;
  }

  /** How old the oldest units are that were not told yet, in microseconds. Looks at every key. */
  lagUs(): number {
    const now = this.#options.clock.nowUs();
    let since = now;
    this.#tallies.forEach((tally) => {
      since = Math.min(since, tally.untoldSince ?? now);
    });
    return now - since;
  }

  take(check: Check, now: number): LoneOutcome | undefined {
    const tally = this.#tallies.only(check);
    if (tally === undefined || !isOf(tally, check)) return undefined;
    const outcome = tally.take(check.cost, now);
    return outcome && { ...outcome, now: tally.storeNow(now), source: 'sync', degraded: false };
  }

  /**
   * Whether its key is counted here in another way than this check's: its rule changed, or its plan. What is untold must be told before
   * the store decides.
   */
  isElsewhere(check: Check): boolean {
    return this.#tallies.size > 0 && this.#tallies.of(check).some((tally) => !isOf(tally, check));
  }

  /** Tells what is counted in another way, and ends it. */
  async settle(check: Check): Promise<void> {
    const others = this.#tallies.of(check).filter((tally) => !isOf(tally, check));
    for (const tally of others) tally.stop();
    await Promise.all(others.map((tally) => this.#tellAll(tally)));
  }

  /** Tells all that is counted of a key, before the store does something to its budget. */
  async flush(target: Pick<Target, 'rule' | 'key'>): Promise<void> {
    if (this.#tallies.size > 0) await Promise.all(this.#tallies.of(target).map((tally) => this.#tellAll(tally)));
  }

  /** The next check of a key asks the store: it has been banned, or is no longer. */
  refresh(target: Pick<Target, 'rule' | 'key'>): void {
    for (const tally of this.#tallies.of(target)) tally.unlearn();
  }

  holderOf(check: Check): Tally | undefined {
    return this.#tallies.find(check);
  }

  putBack(tally: Tally, outcome: Outcome): void {
    const { store, onLost } = this.#options;
    const receipt = tally.putBack(outcome);
    if (receipt !== undefined) void store.giveBack({ receipt, units: receipt.taken }).catch(onLost);
  }

  /** The first contact with a key, and what a share is too small for, is the store's to decide. */
  wait(): undefined {
    return undefined;
  }

  asking(check: Check, now: number): () => void {
    if (this.#closed || typeof check.mode !== 'object') return nothing;
    const found = this.#tallies.find(check);
    const tally = found !== undefined && isOf(found, check) ? found : this.#open(check, check.mode.syncUs, now);
    if (tally === undefined) return nothing;
    tally.underWay += check.cost;
    return () => {
      tally.underWay -= check.cost;
    };
  }

  told(check: Check, answer: GroupOutcome, askedAt: number): void {
    const tally = this.#tallies.find(check);
    if (answer.degraded || this.#closed || tally === undefined || !isOf(tally, check)) return;
    tally.decided(answer, { askedAt, now: this.#options.clock.nowUs() });
    if (tally.members === undefined && !tally.isMeeting) void this.#meet([tally]);
  }

  /** The key's budget is another from now on; what was told before it is not counted again. */
  forget(target: Pick<Target, 'rule' | 'key'>): void {
    for (const tally of this.#tallies.of(target)) {
      tally.forget();
      this.#tallies.remove(tally);
    }
  }

  /** Sends the last totals. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    await Promise.all(this.#tallies.all().map((tally) => this.#tellAll(tally)));
  }

  #open(check: Check, intervalUs: number, now: number): Tally | undefined {
    if (this.#tallies.size >= this.#options.max) {
      this.dropped += 1;
      return undefined;
    }
    const tally = new Tally(check, { intervalUs, now });
    this.#tallies.add(tally);
    this.#exchangeSoon(intervalUs);
    return tally;
  }

  #exchangeSoon(intervalUs: number): void {
    if (this.#timers.has(intervalUs) || this.#closed) return;
    const cancel = this.#options.clock.after(intervalUs / 1000, () => this.#exchangeAll(intervalUs), { unref: true });
    this.#timers.set(intervalUs, cancel);
  }

  /** All keys of one interval, so many in one turn of the event loop: the store sends those together. */
  #exchangeAll(intervalUs: number): void {
    this.#timers.delete(intervalUs);
    const now = this.#options.clock.nowUs();
    const due: Tally[] = [];
    for (const tally of this.#tallies.all()) {
      if (tally.intervalUs !== intervalUs) continue;
      // One that was not used would be told of for nothing; the next check begins anew with the store.
      if (tally.unsent > 0 || tally.underWay > 0 || tally.usedAt + intervalUs > now) due.push(tally);
      else this.#tallies.remove(tally);
    }
    this.#exchangeSome(due, 0);
    if (due.length > 0) this.#exchangeSoon(intervalUs);
  }

  #exchangeSome(due: readonly Tally[], from: number): void {
    const some = due.slice(from, from + keysInTurn);
    for (let first = 0; first < some.length; first += keysAtOnce) void this.#meet(some.slice(first, first + keysAtOnce));
    for (const tally of some) void this.#exchange(tally);
    if (from + keysInTurn < due.length && !this.#closed)
      this.#options.clock.after(1, () => this.#exchangeSome(due, from + keysInTurn), { unref: true });
  }

  /** Learns with how many others each key is shared. */
  async #meet(tallies: readonly Tally[]): Promise<void> {
    const { store, fleetSize } = this.#options;
    const forUs = intervalsSeen * (tallies[0]?.intervalUs ?? 0);
    let members: readonly number[] | undefined;
    for (const tally of tallies) tally.isMeeting = true;
    try {
      members = await store.meet?.({ keys: tallies.map(({ check: { rule, key } }) => ({ rule, key })), member: this.#member, forUs });
    } catch {
      // As if all of the fleet were there, unless it was known better before.
    }
    tallies.forEach((tally, index) => {
      tally.isMeeting = false;
      tally.shareWith(members?.[index] ?? tally.members ?? fleetSize());
    });
  }

  /** Tells until nothing is untold, or telling fails; a tally that was stopped is then no more. */
  async #tellAll(tally: Tally): Promise<void> {
    await tally.exchange;
    if (tally.unsent > 0) await this.#exchange(tally);
    if (tally.isStopped && tally.unsent === 0) this.#tallies.remove(tally);
  }

  #exchange(tally: Tally): Promise<void> {
    tally.exchange ??= this.#send(tally).finally(() => {
      tally.exchange = undefined;
      if (tally.isStopped && tally.unsent === 0) this.#tallies.remove(tally);
    });
    return tally.exchange;
  }

  async #send(tally: Tally): Promise<void> {
    const { store, clock } = this.#options;
    const told = tally.tell(clock.nowUs());
    const check = told.units > 0 ? { ...tally.check, cost: told.units, least: 0 } : tally.check;
    const late = (answer: GroupOutcome): void => this.#return(check, answer, tally.toldLate(told, answer, clock.nowUs()));
    const ticket: Ticket = { cancelled: false, sent: false, late };
    try {
      const answer = await store.decide({ checks: [check], ...(told.units === 0 && { dry: true }) }, ticket);
      this.#return(check, answer, tally.told(told, answer, clock.nowUs()));
    } catch {
      tally.failed(told);
    }
  }

  /** Units that were counted, and should not have been, go back. */
  #return(check: Check, { now, outcomes }: GroupOutcome, units: number): void {
    const receipt = outcomes[0] && receiptOf(check, outcomes[0], { now, degraded: false });
    if (units > 0 && receipt !== undefined) void this.#options.store.giveBack({ receipt, units }).catch(this.#options.onLost);
  }
}
