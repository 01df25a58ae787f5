import { millionth, sizeOf, type CountedLimit } from '../limit.js';
import type { Check, GroupOutcome, Outcome } from '../stores/store.js';
import { describeLeft } from './left.js';

/** Longer than the round trip of an exchange: a retry after it finds its answer. */
const exchangeUs = 10_000;

/** What flows back into a bucket in so many microseconds, in units. */
const refillIn = (limit: CountedLimit, us: number): number =>
  limit.kind === 'tokenBucket' ? (us * limit.creditUnits) / limit.creditUs / millionth : 0;

/** Whether units belong to a window for good, so that they must not be charged to the next one. */
export const isWindowed = ({ kind }: CountedLimit): boolean => kind === 'fixedWindow' || kind === 'quota';

/** Units counted here and not told yet, to be charged whole. */
export interface Unsent {
  readonly units: number;
  readonly windowEnd: number | undefined;
  /** When they were sent, by our clock. */
  readonly at: number;
}

/** What this process counted for one key since it last told, and what it may count until it does again. */
export class Tally {
  readonly check: Check;
  readonly intervalUs: number;
  /** Processes that count on this key, 0 as long as that is not known: then the store decides. */
  #members = 0;
  /** Units taken here that the store does not know of: not told, and on their way. */
  #unsent = 0;
  #sending = 0;
  /** Units that may still be taken here, and how many there were at first. */
  #allowance = 0;
  #share = 0;
  /** What the store had left by its last answer, and when that was asked for, by our clock. */
  #remaining = 0;
  #answeredAt = 0;
  /** The store's clock less ours, at most. */
  #aheadUs = 0;
  #windowEnd: number | undefined;
  /** When the next exchange is due, by our clock. */
  nextAt: number;
  /** When it was asked for last. */
  usedAt: number;
  #stopped = false;
  /** The last exchange failed. */
  away = false;

  constructor({ rule, key, limit, whenUnavailable = 'local' }: Check, { intervalUs, now }: { intervalUs: number; now: number }) {
    this.check = { rule, key, limit, cost: 1, whenUnavailable };
    this.intervalUs = intervalUs;
    this.nextAt = now + intervalUs;
    this.usedAt = now;
  }

  /** Undefined as long as it is not known. */
  get members(): number | undefined {
    return this.#members === 0 ? undefined : this.#members;
  }

  get unsent(): number {
    return this.#unsent;
  }

  storeNow(now: number): number {
    return now + this.#aheadUs;
  }

  /** Takes within this process's share, or refuses; undefined if the store is to decide. */
  take(cost: number, now: number): Outcome | undefined {
    this.usedAt = now;
    if (this.#stopped || this.#isOver(now)) return undefined;
    if (cost <= this.#allowance) {
      this.#allowance -= cost;
      this.#unsent += cost;
      return this.#outcome(cost, cost, now);
    }
    const left = this.#left();
    // The share is too small for it whatever happens, and the store may have it.
    if (this.away || (cost > this.#share && cost <= left) || cost > sizeOf(this.check.limit)) return undefined;
    return this.#outcome(cost, 0, now);
  }

  putBack(units: number): void {
    const back = Math.min(units, this.#unsent);
    this.#unsent -= back;
    this.#allowance += back;
  }

  /** Those that count on this key, this process among them. */
  shareWith(members: number): void {
    this.#members = Math.max(1, members);
    this.#shareOut();
  }

  /** From now on the store decides. */
  stop(): void {
    this.#stopped = true;
    this.#allowance = 0;
  }

  /** The store has decided a check of this key itself. */
  told({ now: decidedAt, outcomes }: GroupOutcome, askedAt: number): void {
    const [outcome] = outcomes;
    if (outcome === undefined) return;
    if (isWindowed(this.check.limit) && outcome.windowEnd !== this.#windowEnd) this.#unsent = 0;
    this.#learn(outcome, decidedAt, askedAt);
  }

  /** What is to be charged now. */
  send(now: number): Unsent {
    if (isWindowed(this.check.limit) && this.#isOver(now)) this.#unsent = 0;
    this.#sending = this.#unsent;
    this.#unsent = 0;
    this.nextAt = now + this.intervalUs;
    return { units: this.#sending, windowEnd: this.#windowEnd, at: now };
  }

  /** The store's answer to what was sent; answers units that it counted in a window they are not of. */
  sent({ units, windowEnd, at }: Unsent, { now: decidedAt, outcomes }: GroupOutcome): number {
    const [outcome] = outcomes;
    this.#sending = 0;
    this.away = false;
    if (outcome === undefined) return 0;
    const isNext = isWindowed(this.check.limit) && outcome.windowEnd !== windowEnd;
    const strays = isNext ? units : 0;
    // Taken meanwhile, in the window that is over.
    if (isNext) this.#unsent = 0;
    this.#learn({ ...outcome, remaining: outcome.remaining + strays }, decidedAt, at);
    return strays;
  }

  /** It was not carried out; what never left is told again. */
  failed({ units }: Unsent, wasSent: boolean): void {
    this.#sending = 0;
    this.away = true;
    if (!wasSent) this.#unsent += units;
  }

  #learn({ remaining, windowEnd }: Outcome, decidedAt: number, askedAt: number): void {
    this.#remaining = remaining;
    this.#answeredAt = askedAt;
    // The store decided no sooner than it was asked: its clock is at most so far ahead, and its window over no later than we think.
    this.#aheadUs = decidedAt - askedAt;
    this.#windowEnd = windowEnd;
    this.#shareOut();
  }

  #shareOut(): void {
    const flows = refillIn(this.check.limit, this.intervalUs);
    this.#share = this.#members === 0 ? 0 : Math.floor((this.#remaining + flows) / this.#members);
    // What was taken while the exchange was on its way comes out of the new share.
    this.#allowance = this.#stopped ? 0 : Math.max(0, this.#share - this.#unsent);
  }

  #isOver(now: number): boolean {
    return this.#windowEnd !== undefined && this.storeNow(now) >= this.#windowEnd;
  }

  #left(): number {
    return Math.max(0, this.#remaining - this.#unsent - this.#sending);
  }

  #outcome(cost: number, taken: number, now: number): Outcome {
    const { limit } = this.check;
    const flowed = Math.floor(refillIn(limit, now - this.#answeredAt));
    const units = Math.min(sizeOf(limit), this.#left() + flowed);
    const storeNow = this.storeNow(now);
    const windowEnd = this.#windowEnd;
    const { retryAfterUs, resetAfterUs } = describeLeft(limit, { units, cost, now: storeNow, windowEnd });
    const allowed = taken > 0;
    // What the store has, though this share has not, may pass after the next exchange.
    const exchanged = this.nextAt - now + exchangeUs;
    const outcome: Outcome = {
      allowed,
      taken,
      remaining: allowed ? units : Math.min(units, cost - 1),
      retryAfterUs: allowed ? 0 : Math.max(1, retryAfterUs, exchanged),
      resetAfterUs,
      reason: allowed ? 'ok' : 'limited',
    };
    return windowEnd === undefined ? outcome : { ...outcome, windowEnd };
  }
}
