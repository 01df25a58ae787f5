import { millionth, sizeOf, type CountedLimit } from '../limit.js';
import type { Check, GroupOutcome, LoneOutcome, Outcome, Receipt } from '../stores/store.js';
import { describeLeft } from './left.js';

/** A lease lasts at most this long, in microseconds of the process's clock, counted from when it was asked for. */
export const leaseUs = 1_000_000;
/** A lot is what the process spends in this time, so that a key at full speed costs a call each time. */
const lotUs = 80_000;
/** The next lot is asked for when what is left lasts no longer than this, or three round trips. */
const [leastLeadUs, mostLeadUs] = [4000, 30_000];
/** After a short answer a process asks again no sooner. */
const longestPauseUs = 50_000;
/** What is asked for at once says nothing about demand yet. */
const shortestSampleUs = 5000;
/** Demand is forgotten. */
const longestSampleUs = 2_000_000;

/** Units taken from the store in one step. */
interface Lot {
  left: number;
  readonly size: number;
  /** By the store's clock. */
  readonly takenAt: number;
  readonly windowEnd: number | undefined;
  /** When it ends, by the process's clock. */
  readonly until: number;
}

/** Why and until when, by the process's clock, a process does not ask. */
interface Short {
  readonly until: number;
  /** The cost that was asked for, and when it could pass; undefined if it was given, and only less than was wanted. */
  readonly cost: number;
  readonly retryAt: number | undefined;
  readonly reason: Outcome['reason'];
  /** A smaller need than the one refused has been asked for since. */
  askedLess: boolean;
}

/** How long a bucket takes to give one unit back, in microseconds; 0 for what comes back at once. */
const unitUs = (limit: CountedLimit): number => (limit.kind === 'tokenBucket' ? (millionth * limit.creditUs) / limit.creditUnits : 0);

/** How long a process waits after a short answer: half the time to full of a small bucket, so that none of its refill is lost. */
function pauseUs(limit: CountedLimit): number {
  if (limit.kind !== 'tokenBucket') return longestPauseUs;
  return Math.min(longestPauseUs, (limit.capacity * unitUs(limit)) / 2);
}

/** When a call was asked for and answered, by the process's clock, and decided, by the store's. */
interface Times {
  readonly askedAt: number;
  readonly now: number;
  readonly decidedAt: number;
}

/** What is to be asked of the store for a lease. */
export interface LotAsked {
  readonly cost: number;
  readonly least: number;
  /** Less than the process could spend, so that others get their part. */
  readonly isCut: boolean;
}

/** The units of one key that this process has in hand, what it knows of the key, and how much it needs. */
export class Lease {
  readonly check: Check;
  readonly openedAt: number;
  /** Its key was reset or banned: what it has in hand counts for nothing. */
  forgotten = false;
  /** Ends when an answer to what was asked has come. */
  asking: Promise<void> | undefined;
  /** When a lot was asked for last, by the process's clock. */
  askedAt: number;
  /** Units spent here since the last ask. */
  #demand = 0;
  #measuredAt: number;
  /** Units a microsecond. */
  #rate = 0;
  #roundTripUs = 0;
  readonly #size: number;
  #lots: Lot[] = [];
  /** Units in hand, by the last count. */
  #left = 0;
  /** The store's clock less ours. */
  #aheadUs = 0;
  /** What the store had left by its last answer, and until when, by our clock, that tells anything. */
  #remaining = 0;
  #resetAt = 0;
  #windowEnd: number | undefined;
  #short: Short | undefined;
  /** It has had a lot. */
  #hasHeld = false;

  constructor({ rule, key, limit, whenUnavailable = 'local' }: Check, now: number) {
    this.check = { rule, key, limit, cost: 1, whenUnavailable };
    this.#size = sizeOf(limit);
    this.openedAt = now;
    this.askedAt = now;
    this.#measuredAt = now;
  }

  /** Units spent here a second. */
  get perSecond(): number {
    return this.#rate * 1e6;
  }

  storeNow(now: number): number {
    return now + this.#aheadUs;
  }

  /** Spends, or refuses while a short answer holds; undefined if the store has to be asked. */
  take(cost: number, now: number): LoneOutcome | undefined {
    // What can never pass is the store's to say, however much is in hand.
    if (cost > this.#size) return undefined;
    if (this.#left >= cost && this.#count(now) >= cost) {
      this.#demand += cost;
      return this.#spend(cost, now);
    }
    const short = this.#short;
    if (short === undefined || now >= short.until) return undefined;
    const left = this.#count(now);
    // What refused a larger cost may pass this one: asked once more, and no oftener.
    if (!short.askedLess && cost - left <= this.#remaining && cost < short.cost && short.reason !== 'banned') return undefined;
    this.#demand += cost;
    return this.#refusal(cost, now);
  }

  /** Units that the store gave to a check itself. */
  spentElsewhere(units: number): void {
    this.#demand += units;
  }

  /** What was spent is back in hand, as the group it was for was refused; answers what has no lot any more to go to. */
  putBack({ taken, takenAt = 0, windowEnd }: Outcome, now: number): Receipt[] {
    let rest = taken;
    for (const lot of this.#lots) {
      // Into a newer lot it would outlive its own.
      const room = lot.until > now && lot.takenAt <= takenAt ? Math.min(rest, lot.size - lot.left) : 0;
      lot.left += room;
      this.#left += room;
      rest -= room;
    }
    return rest === 0 ? [] : [this.#receiptOf({ left: rest, takenAt, windowEnd })];
  }

  /** Whether a lot may be asked for: none is on its way, and no pause holds. */
  mayAsk(now: number): boolean {
    return this.asking === undefined && (this.#short === undefined || now >= this.#short.until);
  }

  /** Whether the next lot should be on its way by now. */
  runsOut(now: number): boolean {
    const leadUs = Math.min(mostLeadUs, Math.max(leastLeadUs, 3 * this.#roundTripUs));
    return this.#left < this.#rate * leadUs && this.mayAsk(now);
  }

  /** What to ask for: so much is needed in all by those that wait, and by one of them at least; 0 if nobody waits. */
  toAsk(needed: number, leastNeeded: number, now: number): LotAsked {
    // What is in hand is spent together with what comes.
    const left = this.#count(now);
    const [need, least] = [Math.max(0, needed - left), Math.max(1, leastNeeded - left)];
    const sinceUs = now - this.#measuredAt;
    if (sinceUs >= shortestSampleUs) {
      const sample = sinceUs > longestSampleUs ? 0 : this.#demand / sinceUs;
      // The longer a sample, the more it says; one of two lots says all.
      this.#rate = this.#rate === 0 ? sample : this.#rate + (sample - this.#rate) * Math.min(1, sinceUs / (2 * lotUs));
      this.#demand = 0;
      this.#measuredAt = now;
    }
    this.askedAt = now;
    const wanted = Math.min(this.#size, Math.max(1, need, Math.ceil(this.#rate * lotUs)));
    // Of what is known to be left, the others get their part; once an answer was short, what there is is taken.
    const leavesPart = this.#short === undefined && now < this.#resetAt;
    const cost = leavesPart ? Math.min(wanted, Math.max(1, need, Math.ceil(this.#remaining / 2))) : wanted;
    if (this.#short !== undefined) this.#short.askedLess = true;
    return { cost, least: Math.max(1, Math.min(cost, least)), isCut: cost < wanted };
  }

  /** The store's answer to an ask: a lot, or why there is none. */
  answered(asked: LotAsked, { now: decidedAt, outcomes }: GroupOutcome, now: number): void {
    const [outcome] = outcomes;
    if (outcome === undefined) return;
    const { askedAt } = this;
    this.#roundTripUs = this.#roundTripUs === 0 ? now - askedAt : (this.#roundTripUs * 3 + now - askedAt) / 4;
    this.#aheadUs = decidedAt - now;
    this.#remaining = outcome.remaining;
    this.#resetAt = now + outcome.resetAfterUs;
    this.#windowEnd = outcome.windowEnd;
    if (outcome.taken > 0) {
      // The store decided no sooner than it was asked: so long after that, its window is not over.
      const lasts = outcome.windowEnd === undefined ? leaseUs : Math.min(leaseUs, outcome.windowEnd - decidedAt);
      const { taken, windowEnd } = outcome;
      this.#lots.push({ left: taken, size: taken, takenAt: decidedAt, windowEnd, until: askedAt + lasts });
      this.#left += taken;
      this.#hasHeld = true;
    }
    const isGiven = outcome.taken >= asked.cost;
    this.#short = isGiven && !asked.isCut ? undefined : this.#pause(asked, outcome, { askedAt, now, decidedAt });
  }

  /** Receipts of what lots that have ended still had, as far as it can come back; no longer in hand. */
  takeEnded(now: number): Receipt[] {
    return this.#takeIf(({ until }) => until <= now, now);
  }

  /** The same of all lots. */
  takeAll(now: number): Receipt[] {
    return this.#takeIf(() => true, now);
  }

  #takeIf(ends: (lot: Lot) => boolean, now: number): Receipt[] {
    const taken = this.#lots.filter(ends);
    if (taken.length === 0) return [];
    this.#lots = this.#lots.filter((lot) => !taken.includes(lot));
    this.#left = this.#lots.reduce((sum, { left }) => sum + left, 0);
    return taken.filter((lot) => this.#canReturn(lot, this.storeNow(now))).map((lot) => this.#receiptOf(lot));
  }

  /** Whether anything is left that has neither flowed back by itself nor been of a window that is over. */
  #canReturn({ left, takenAt, windowEnd }: Lot, storeNow: number): boolean {
    const { limit } = this.check;
    if (limit.kind === 'tokenBucket') return left * unitUs(limit) > storeNow - takenAt;
    return left > 0 && (windowEnd ?? 0) > storeNow;
  }

  /** What a lot took, as far as it was not spent. */
  #receiptOf({ left, takenAt, windowEnd }: Pick<Lot, 'left' | 'takenAt' | 'windowEnd'>): Receipt {
    const { rule, key, limit } = this.check;
    return { rule, key, limit, taken: left, takenAt, degraded: false, ...(windowEnd === undefined ? undefined : { windowEnd }) };
  }

  /** Units in hand whose lease has not ended. */
  #count(now: number): number {
    const [first] = this.#lots;
    // In the order in which they were asked for, and so of their end, but for the end of a window, which ends all.
    if (first === undefined || first.until > now) return this.#left;
    return this.#lots.reduce((sum, { left, until }) => (until > now ? sum + left : sum), 0);
  }

  #spend(cost: number, now: number): LoneOutcome {
    let rest = cost;
    let takenAt = 0;
    let spentUp = 0;
    for (const lot of this.#lots) {
      if (lot.until > now && lot.left > 0) {
        const part = Math.min(lot.left, rest);
        lot.left -= part;
        rest -= part;
        // Of the oldest, of which the least may come back.
        if (takenAt === 0) takenAt = lot.takenAt;
      }
      if (rest === 0) break;
      spentUp += 1;
    }
    this.#left -= cost;
    // Those that have ended with something left are given back by the sweep.
    if (spentUp > 0) this.#lots = this.#lots.filter(({ left }) => left > 0);
    // Written out, as one is made for every check.
    const outcome: { -readonly [Field in keyof LoneOutcome]: LoneOutcome[Field] } = {
      allowed: true,
      taken: cost,
      remaining: this.#remainingNow(),
      retryAfterUs: 0,
      resetAfterUs: this.#resetAfterUs(now),
      reason: 'ok',
      takenAt,
      now: this.storeNow(now),
      source: 'lease',
      degraded: false,
    };
    if (this.#windowEnd !== undefined) outcome.windowEnd = this.#windowEnd;
    return outcome;
  }

  #remainingNow(): number {
    return Math.min(this.#size, this.#left + this.#remaining);
  }

  #resetAfterUs(now: number): number {
    const { limit } = this.check;
    if (limit.kind !== 'tokenBucket') return Math.max(0, this.#resetAt - now);
    return Math.ceil((limit.capacity - this.#remainingNow()) * unitUs(limit));
  }

  #pause({ cost }: LotAsked, outcome: Outcome, { askedAt, now, decidedAt }: Times): Short {
    const { taken, retryAfterUs, resetAfterUs, windowEnd, reason } = outcome;
    const isGiven = taken >= cost;
    const waits = retryAfterUs === Number.POSITIVE_INFINITY ? resetAfterUs : retryAfterUs;
    // Processes that were refused together shall not come back together for ever.
    const pause = pauseUs(this.check.limit) * (1 + 0.3 * Math.random());
    // A new window is never paused for.
    const newWindow = windowEnd === undefined ? Number.POSITIVE_INFINITY : now + windowEnd - decidedAt;
    // Nor is it at first: the store itself may have told somebody when to come again.
    const first = this.#hasHeld ? Number.POSITIVE_INFINITY : now + waits;
    const until = Math.min(askedAt + pause, newWindow, first);
    return { until, cost, retryAt: isGiven ? undefined : now + waits, reason, askedLess: isGiven };
  }

  /** When a cost may pass, if that is not before the end of the pause. */
  #retryAt(cost: number, short: Short, now: number): number {
    const withHand = this.#retryFor({ cost, need: cost - this.#count(now) }, short, now);
    const [first] = this.#lots.filter(({ until }) => until > now);
    // What is in hand now is not there any more by then.
    return first === undefined || withHand < first.until ? withHand : Math.max(withHand, this.#retryFor({ cost, need: cost }, short, now));
  }

  #retryFor({ cost, need }: { cost: number; need: number }, { retryAt, cost: asked }: Short, now: number): number {
    const { limit } = this.check;
    // A bucket gives unit by unit, from when it could give what was asked for.
    if (retryAt !== undefined && limit.kind === 'tokenBucket') return retryAt + Math.ceil((need - asked) * unitUs(limit));
    if (retryAt !== undefined && (limit.kind !== 'slidingWindow' || need <= asked)) return retryAt;
    const known = { units: cost - need + this.#remaining, cost, now: this.storeNow(now), windowEnd: this.#windowEnd };
    return now + describeLeft(limit, known).retryAfterUs;
  }

  #refusal(cost: number, now: number): LoneOutcome {
    const short = this.#short;
    let retryAt = short?.retryAt ?? now;
    if (short !== undefined && short.reason !== 'banned') retryAt = Math.max(short.until, this.#retryAt(cost, short, now));
    const banned = short?.reason === 'banned';
    return {
      allowed: false,
      taken: 0,
      remaining: banned ? 0 : Math.min(this.#remainingNow(), cost - 1),
      retryAfterUs: Math.max(1, retryAt - now),
      resetAfterUs: banned ? Math.max(1, retryAt - now) : this.#resetAfterUs(now),
      reason: banned ? 'banned' : 'limited',
      now: this.storeNow(now),
      source: 'lease',
      degraded: false,
    };
  }
}
