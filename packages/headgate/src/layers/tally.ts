import { millionth, sizeOf, type CountedLimit } from '../limit.js';
import type { Check, GroupOutcome, Outcome, Receipt } from '../stores/store.js';
import { describeLeft } from './left.js';

/** Longer than the round trip of an exchange: a retry after it finds its answer. */
const exchangeUs = 10_000;

/** What flows back into a bucket in so many microseconds, in units. */
const refillIn = (limit: CountedLimit, us: number): number =>
  limit.kind === 'tokenBucket' ? (us * limit.creditUnits) / limit.creditUs / millionth : 0;

/** Units left by an outcome: of a bucket to the fraction, and below 0 what it owes. */
function leftBy({ remaining, resetAfterUs }: Outcome, limit: CountedLimit): number {
  return limit.kind === 'tokenBucket' ? limit.capacity - refillIn(limit, resetAfterUs) : remaining;
}

/** Whether units belong to a window for good, so that they must not be charged to the next one. */
const isWindowed = ({ kind }: CountedLimit): boolean => kind === 'fixedWindow' || kind === 'quota';

/** The end of the window an outcome tells of; 0 if none is open, as only a request opens it. */
const windowEndBy = ({ windowEnd, resetAfterUs }: Outcome, limit: CountedLimit): number | undefined =>
  limit.kind === 'fixedWindow' && limit.from === 'first-request' && resetAfterUs === 0 ? 0 : windowEnd;

/** Units counted here, on their way to the store to be charged whole. */
export interface Told {
  readonly units: number;
  readonly windowEnd: number | undefined;
  /** When they were sent, by our clock. */
  readonly at: number;
}

/** What this process counted for one key since it last told, and what it may count until it does again. */
export class Tally {
  readonly check: Check;
  readonly intervalUs: number;
  /** When it was asked for last. */
  usedAt: number;
  /** Units of checks that the store is deciding now. */
  underWay = 0;
  /** Processes that count on this key, 0 as long as that is not known: then the store decides. */
  #members = 0;
  /** Units taken here: not told yet, and being told. */
  #unsent = 0;
  #telling = 0;
  #isTelling = false;
  /** Of those not told, the ones that were told before without an answer: a late one may come. */
  #inDoubt = 0;
  /** When the oldest of those were taken, by our clock. */
  #unsentSince = 0;
  #tellingSince = 0;
  /** Units taken here that the store's last answer does not know of. */
  #unknown = 0;
  /** How many units may be unknown. */
  #share = 0;
  /** What the store had left by its last answer, and when that came, by our clock; decided, by the store's. */
  #remaining = 0;
  #answeredAt = 0;
  #decidedAt = 0;
  /** The store's clock less ours, at most. */
  #aheadUs = 0;
  #windowEnd: number | undefined;
  #nextAt: number;
  #stopped = false;
  #stale = false;
  /** The last exchange failed. */
  #isAway = false;
  /** The end of a ban, by our clock. */
  #bannedUntil = 0;
  /** Units to come back that had been told when they were put back. */
  #unwanted = 0;
  /** The exchange on its way. */
  exchange: Promise<void> | undefined;
  /** The members are being counted. */
  isMeeting = false;

  constructor({ rule, key, limit, whenUnavailable = 'local' }: Check, { intervalUs, now }: { intervalUs: number; now: number }) {
    this.check = { rule, key, limit, cost: 1, whenUnavailable };
    this.intervalUs = intervalUs;
    this.#nextAt = now + intervalUs;
    this.usedAt = now;
  }

  /** Undefined as long as it is not known. */
  get members(): number | undefined {
    return this.#members === 0 ? undefined : this.#members;
  }

  get unsent(): number {
    return this.#unsent;
  }

  /** When the oldest units were taken that the store does not know of; undefined if there are none. */
  get untoldSince(): number | undefined {
    if (this.#telling > 0) return this.#tellingSince;
    return this.#unsent > 0 ? this.#unsentSince : undefined;
  }

  get isStopped(): boolean {
    return this.#stopped;
  }

  storeNow(now: number): number {
    return now + this.#aheadUs;
  }

  /** Takes within this process's share, or refuses; undefined if the store is to decide. */
  take(cost: number, now: number): Outcome | undefined {
    this.usedAt = now;
    const { limit } = this.check;
    if (now < this.#bannedUntil) return this.#banned(now);
    if (this.#stopped || this.#decidedAt === 0 || this.#isOver(now) || cost > sizeOf(limit)) return undefined;
    const free = this.#share - this.#unknown;
    // What the store is deciding may take from the same units.
    if (cost <= free - this.underWay) {
      if (this.#unsent === 0) this.#unsentSince = now;
      this.#unsent += cost;
      this.#unknown += cost;
      return this.#outcome(cost, cost, now);
    }
    // What the share is too small for whatever happens, or cannot be told for now, the store may have.
    const isTheStores = cost > this.#share || cost <= free || this.#isAway;
    return isTheStores && cost <= this.#levelAt(now) - this.#unknown ? undefined : this.#outcome(cost, 0, now);
  }

  /**
   * What was taken is not wanted. What is being told comes back once that is answered; what has been told is to be given back now, by
   * the receipt that is answered.
   */
  putBack({ taken, windowEnd }: Outcome): Receipt | undefined {
    const { rule, key, limit } = this.check;
    if (this.#stale || (isWindowed(limit) && windowEnd !== this.#windowEnd)) return undefined;
    const untold = Math.min(taken, this.#unsent);
    this.#unsent -= untold;
    this.#unknown = Math.max(0, this.#unknown - untold);
    const underWay = Math.min(taken - untold, this.#telling - this.#unwanted);
    this.#unwanted += underWay;
    const counted = taken - untold - underWay;
    if (counted === 0) return undefined;
    // Counted an interval ago at the earliest: a bucket returns no more than what cannot have flowed back.
    const takenAt = this.#decidedAt - this.intervalUs;
    return { rule, key, limit, taken: counted, takenAt, degraded: false, ...(windowEnd !== undefined && { windowEnd }) };
  }

  /** The key was reset: what was taken before counts for nothing. */
  forget(): void {
    this.#forget();
    this.#stale = true;
  }

  /** Those that count on this key, this process among them. */
  shareWith(members: number): void {
    this.#members = Math.max(1, members);
    this.#shareOut();
  }

  /** Nothing is known of the key any more, until the store has decided a check of it. */
  unlearn(): void {
    this.#decidedAt = 0;
    this.#bannedUntil = 0;
  }

  /** From now on the store decides. */
  stop(): void {
    this.#stopped = true;
  }

  /** The store has decided a check of this key itself. */
  decided(answer: GroupOutcome, { askedAt, now }: { askedAt: number; now: number }): void {
    const [outcome] = answer.outcomes;
    if (outcome === undefined || this.#isOlder(outcome, answer.now, askedAt)) return;
    if (this.#isBan(outcome, now)) return;
    this.#moveTo(outcome);
    // Whether it was asked before or after what is being told is not known.
    this.#unknown = this.#unsent + this.#telling;
    this.#learn(outcome, answer.now, { askedAt, now });
  }

  /** What is to be charged now. */
  tell(now: number): Told {
    if (isWindowed(this.check.limit) && this.#isOver(now)) this.#forget();
    const units = this.#unsent;
    this.#unsent = 0;
    this.#inDoubt = 0;
    this.#telling = units;
    this.#tellingSince = this.#unsentSince;
    this.#isTelling = true;
    this.#nextAt = now + this.intervalUs;
    return { units, windowEnd: this.#windowEnd, at: now };
  }

  /** The store has counted what was told; answers units of it that are to come back: of another window than theirs, or put back meanwhile. */
  told(told: Told, { now: decidedAt, outcomes }: GroupOutcome, now: number): number {
    const { units, windowEnd, at } = told;
    const [outcome] = outcomes;
    if (outcome === undefined || this.#isBan(outcome, now)) {
      // A banned key counts nothing.
      this.failed(told, { isAway: false });
      return 0;
    }
    this.#isTelling = false;
    this.#isAway = false;
    const isStale = this.#telling !== units;
    this.#telling = 0;
    const isNext = isWindowed(this.check.limit) && outcome.windowEnd !== windowEnd;
    const back = isNext ? units : Math.min(units, this.#unwanted);
    this.#unwanted = 0;
    if (this.#isOlder(outcome, decidedAt, at)) {
      // What is known is newer, and so knows of it, unless it is of another window.
      if (!isStale) this.#unknown = Math.max(0, this.#unknown - units);
      return back;
    }
    this.#moveTo(outcome);
    this.#unknown = this.#unsent;
    this.#learn({ ...outcome, remaining: outcome.remaining + back }, decidedAt, { askedAt: at, now });
    return back;
  }

  /**
   * It was not answered: told again with the next exchange. If it had been counted, that is one time too many: fewer pass, where
   * the other way round more would.
   */
  failed({ units }: Told, { isAway = true } = {}): void {
    this.#isTelling = false;
    this.#isAway = isAway;
    if (this.#telling !== units || this.#stale) return;
    this.#telling = 0;
    if (units > 0) this.#unsentSince = this.#tellingSince;
    this.#unsent += units - Math.min(units, this.#unwanted);
    this.#unwanted = 0;
    this.#inDoubt = isAway ? units : 0;
  }

  /** Answered too late, but before it was told again. */
  toldLate(told: Told, answer: GroupOutcome, now: number): number {
    if (this.#inDoubt !== told.units || this.#isTelling || this.#unsent < told.units) return 0;
    this.#unsent -= told.units;
    this.#inDoubt = 0;
    this.#telling = told.units;
    return this.told(told, answer, now);
  }

  /** What was taken in a window that is over is no longer to be told. */
  #forget(): void {
    this.#unsent = 0;
    this.#telling = 0;
    this.#inDoubt = 0;
    this.#unwanted = 0;
    this.#unknown = 0;
  }

  /**
   * Answers may cross. What was asked for after the last answer came is newer, whatever the store's clock says; else that tells, and of two
   * of one instant, as of one script call, the one that leaves less came last.
   */
  #isOlder(outcome: Outcome, decidedAt: number, askedAt: number): boolean {
    if (askedAt > this.#answeredAt) return false;
    if (decidedAt !== this.#decidedAt) return decidedAt < this.#decidedAt;
    return windowEndBy(outcome, this.check.limit) === this.#windowEnd && leftBy(outcome, this.check.limit) > this.#remaining;
  }

  #isBan({ reason, retryAfterUs }: Outcome, now: number): boolean {
    this.#bannedUntil = reason === 'banned' ? now + retryAfterUs : 0;
    return reason === 'banned';
  }

  #banned(now: number): Outcome {
    const left = this.#bannedUntil - now;
    return { allowed: false, taken: 0, remaining: 0, retryAfterUs: left, resetAfterUs: left, reason: 'banned' };
  }

  #moveTo(outcome: Outcome): void {
    if (isWindowed(this.check.limit) && windowEndBy(outcome, this.check.limit) !== this.#windowEnd) this.#forget();
  }

  #learn(outcome: Outcome, decidedAt: number, { askedAt, now }: { askedAt: number; now: number }): void {
    const { limit } = this.check;
    this.#remaining = leftBy(outcome, limit);
    this.#decidedAt = decidedAt;
    this.#answeredAt = now;
    // The store decided no sooner than it was asked: its clock is at most so far ahead, and its window over no later than we think.
    this.#aheadUs = decidedAt - askedAt;
    this.#windowEnd = windowEndBy(outcome, limit);
    this.#shareOut();
  }

  /**
   * Half of this process's part, if there are others: in whatever order they tell, what each has not told is then so little that all
   * together stay within the bound. Alone it has all of it.
   */
  #shareOut(): void {
    const flows = refillIn(this.check.limit, this.intervalUs);
    const parts = this.#members === 1 ? 1 : 2 * this.#members;
    this.#share = this.#members === 0 ? 0 : Math.max(0, Math.floor((this.#remaining + flows) / parts));
  }

  #isOver(now: number): boolean {
    return this.#windowEnd !== undefined && this.storeNow(now) >= this.#windowEnd;
  }

  /** What the store has at a time if nobody else takes: of a bucket no more than it holds, as it does not know yet what was taken here. */
  #levelAt(at: number): number {
    const { limit } = this.check;
    if (limit.kind !== 'tokenBucket') return this.#remaining;
    return Math.min(limit.capacity, this.#remaining + refillIn(limit, Math.max(0, at - this.#answeredAt)));
  }

  #outcome(cost: number, taken: number, now: number): Outcome {
    const { limit } = this.check;
    const windowEnd = this.#windowEnd;
    const units = Math.max(0, Math.min(sizeOf(limit), Math.floor(this.#levelAt(now) - this.#unknown)));
    // Once it is told, the store has so much; less than nothing if a bucket's share had units in advance.
    const toldUs = Math.max(0, this.#nextAt - now);
    const afterwards = Math.floor(this.#levelAt(now + toldUs) - this.#unknown);
    const { retryAfterUs, resetAfterUs } = describeLeft(limit, { units: afterwards, cost, now: this.storeNow(now), windowEnd });
    const retryUs = limit.kind === 'tokenBucket' ? toldUs + retryAfterUs : retryAfterUs;
    const allowed = taken > 0;
    const outcome: Outcome = {
      allowed,
      taken,
      remaining: allowed ? units : Math.min(units, cost - 1),
      // What the store has, though this share has not, may pass after the next exchange.
      retryAfterUs: allowed ? 0 : Math.max(retryUs, toldUs + exchangeUs),
      resetAfterUs,
      reason: allowed ? 'ok' : 'limited',
    };
    return windowEnd === undefined ? outcome : { ...outcome, windowEnd };
  }
}
