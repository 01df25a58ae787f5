import type { Reason, Source } from '../decision.js';
import type { LayersOver } from '../layered.js';
import type { CountedLimit } from '../limit.js';
import type { LocalMode } from '../mode.js';
import type { WhenUnavailable } from '../rule.js';

/** One check as a store sees it: validated, and never with an `unlimited` limit. */
export interface Check {
  readonly rule: string;
  readonly key: string;
  readonly limit: CountedLimit;
  /** Units asked for, a whole number of at least 1. */
  readonly cost: number;
  /**
   * The least that is acceptable, `cost` if absent. Less than `cost`: the store takes what is left, if that is at least
   * this (leases). 0: the store charges the whole cost whatever happens, into debt (a settle).
   */
  readonly least?: number;
  /** Buckets only: microseconds of refill that may be taken in advance (a turn in the future). */
  readonly aheadUs?: number;
  /** Refused, it takes its units all the same. */
  readonly countRefused?: boolean;
  /** Its refusal does not refuse the group. */
  readonly shadow?: boolean;
  /** Concurrency only: the holder's id, unique for each take; letters, digits, `-` and `_`. */
  readonly holder?: string;
  /** What to answer while the shared store is away: read by the guard, not by stores. */
  readonly whenUnavailable?: WhenUnavailable;
  /** How it is counted, exactly if absent: read by the layers, not by stores. */
  readonly mode?: LocalMode;
  /** The plan it is asked under, for its receipt. */
  readonly plan?: string;
}

/** Checks that are decided together: every one that is not a shadow is allowed and taken, or none is. */
export interface Group {
  readonly checks: readonly Check[];
  /** Look only: take nothing. */
  readonly dry?: boolean;
}

/** What a store says of one check. Times in microseconds from `GroupOutcome.now`. */
export interface Outcome {
  /** Whether this check by itself passes. */
  readonly allowed: boolean;
  /** Units taken: 0 if anything in the group refused. */
  readonly taken: number;
  readonly remaining: number;
  /** 0 if allowed; `Infinity` if this cost can never pass. Of a part that was taken (`least`): until the whole cost could pass. */
  readonly retryAfterUs: number;
  readonly resetAfterUs: number;
  readonly reason: Reason;
  /** Buckets taken from ahead of time: microseconds until the turn comes. */
  readonly waitUs?: number;
  /** Buckets taken from ahead of time: millionths used after it. */
  readonly fill?: number;
  /** Windows and quotas: the end of the window the units are in, for giving back. */
  readonly windowEnd?: number;
  /** Consecutive failures: how many are counted, this attempt among them if it was taken. */
  readonly failures?: number;
  /** Leased units: when they were taken from the store, which is before they were spent. */
  readonly takenAt?: number;
}

export interface GroupOutcome {
  /** The store's clock when it decided: microseconds since 1970. */
  readonly now: number;
  /** Whether the group passed. */
  readonly allowed: boolean;
  /** One per check, in order. */
  readonly outcomes: readonly Outcome[];
  readonly source: Source;
  readonly degraded: boolean;
}

/** What was said of one check that was decided by itself. */
export interface LoneOutcome extends Outcome, Pick<GroupOutcome, 'now' | 'source' | 'degraded'> {}

/** What a take left behind: enough for any process to give it back. Plain data. */
export interface Receipt {
  readonly rule: string;
  readonly key: string;
  readonly limit: CountedLimit;
  readonly taken: number;
  /** The store's clock at the take. */
  readonly takenAt: number;
  readonly windowEnd?: number;
  readonly holder?: string;
  /** Of a turn in the future: millionths used after it, which tells whether others have taken turns since. */
  readonly fill?: number;
  /** The plan it was taken under. */
  readonly plan?: string;
  /** Taken from this process's fallback, not from the shared store. */
  readonly degraded: boolean;
}

export interface GiveBack {
  readonly receipt: Receipt;
  /** Units to return: 1 to `receipt.taken`. */
  readonly units: number;
  /**
   * Set where several processes may give the same receipt back: the store honours each id once, for as long as the receipt
   * can still return anything.
   */
  readonly onceId?: string;
  /**
   * Consecutive failures only: the attempt succeeded, and all that is counted of its key is forgotten, whatever `units` says. What began
   * before the count did forgets nothing, so no id is needed to make it count once.
   */
  readonly forget?: boolean;
  /** Fixed windows and quotas only: what is used never falls below so many units by this. 0 if absent. */
  readonly downTo?: number;
}

/** A key's budgets: one for each kind of limit that its rule uses over all plans. */
export interface Target {
  readonly rule: string;
  readonly key: string;
  readonly kinds: readonly CountedLimit['kind'][];
}

/** A process that shares the store says that it is there. */
export interface Beat {
  /** Unique for each process. */
  readonly member: string;
  /** How it spreads keys, as a short text: the same for all that agree. */
  readonly layout: string;
  /** Microseconds for which it counts; 0: it leaves. */
  readonly forUs: number;
}

/** The processes that share the store now. */
export interface Members {
  readonly members: number;
  /** Of them, those with another layout. */
  readonly strangers: number;
}

/** One process says that it counts on some keys by itself. */
export interface Meeting {
  readonly keys: readonly Pick<Target, 'rule' | 'key'>[];
  /** Unique for each process. */
  readonly member: string;
  /** Microseconds for which it counts. */
  readonly forUs: number;
}

/** What became of a call: shared between who waits and who sends. */
export interface Ticket {
  /** Set by who waits: a call that was not sent by then is dropped, and rejects. */
  cancelled: boolean;
  /**
   * Set by who sends: from here on, the call may have been counted. Unset when a call is rejected because the store answered that it
   * did not carry it out.
   */
  sent: boolean;
  /** When its caller began to wait, by `performance.now()`, if that is earlier than the call: the deadline counts from there. */
  readonly since?: number;
  /**
   * Set by who decides for himself while the store is away: the call is then rejected instead of being decided without it, and an answer
   * that comes too late is told here.
   */
  late?(answer: GroupOutcome): void;
}

/** A decision on its way that is told of its answer, once, by a call of one of the two. */
export interface Asking extends Ticket {
  answered(answer: GroupOutcome): void;
  failed(error: unknown): void;
}

/**
 * Holds the counters. Every implementation passes the store cases (`headgate/testing`).
 *
 * A store MUST decide each group in one atomic step, with its own clock, read once. A group that refuses MUST take
 * nothing (but for `countRefused`). Every operation MUST either apply as a whole or reject; a rejection says nothing about
 * whether it was applied, and a store MUST NOT send it again. A store is free to send groups together: callers hand over
 * one group a call, and the groups stay independent: an error in one is that one's alone.
 */
export interface Store {
  /** Set if it decides within this process, so that no deadline is needed. */
  readonly local?: true;
  /**
   * What stands before it in a limiter: deadlines, breakers, leases and the like; `layersOver` of `headgate/layers`. Of a store that is not
   * `local` and does not say, it is loaded when the limiter is made, which a bundle cannot do; so a program that counts in memory has none.
   */
  readonly layers?: LayersOver;
  /** Set if it is several stores as one: each gets a guard of its own. */
  readonly shards?: readonly { readonly name: string; readonly weight: number; readonly store: Store }[];
  /** Of a store that is several servers (a cluster): what fails together with a key, so that one server's failure is its keys' alone. */
  placeOf?(key: string): string;
  /** Decides a group. MUST leave an absent key absent if nothing was taken. */
  decide(group: Group, ticket?: Ticket): Promise<GroupOutcome>;
  /**
   * Optional: the decision of a check that is a group by itself, where it is known here and now; undefined if it has to be asked for by
   * `decide`. MUST NOT change anything if it answers undefined, or if it is `dry`.
   */
  checkNow?(check: Check, dry: boolean): LoneOutcome | undefined;
  /** Optional: the same as `decide`, for who asks so often that promises count. MUST NOT throw. */
  ask?(group: Group, call: Asking): void;
  /**
   * Returns units, and answers how many were really returned. Into a window or period only while it is the one that the
   * units were taken from; into a bucket at most units - refill x (now - taken at), and nothing while others hold turns in its future; into
   * consecutive failures only while the attempt is one of those that are counted, and for a day at most. MUST NOT return more than was taken,
   * create a counter, or return twice for one `onceId`. Of a concurrency limit it ends the holder. With `forget` all failures that the attempt
   * is counted with are gone, and the answer is how many there were.
   */
  giveBack(item: GiveBack): Promise<number>;
  /** True once for each id, as `giveBack` with that id would be; for a settle that charges instead of returning. */
  claim(receipt: Receipt, onceId: string): Promise<boolean>;
  /** Prolongs a concurrency holder by its limit's `expires` from now; false if it had expired or was released. */
  extend(receipt: Receipt): Promise<boolean>;
  /** Forgets the counters of exactly this key; a ban stays. */
  reset(target: Target): Promise<void>;
  /** Refuses this key for `us` microseconds from now, replacing any earlier ban. */
  ban(target: Target, us: number): Promise<void>;
  unban(target: Target): Promise<void>;
  /** Counts the processes that share the store. Without it, the size of the fleet is what the user says. */
  beat?(beat: Beat): Promise<Members>;
  /** Counts the processes that count on each key by themselves, this one among them. Without it, all of the fleet are thought to. */
  meet?(meeting: Meeting): Promise<readonly number[]>;
  /** Resolves once the store answers; rejects with a StoreError if it does not. */
  ping(): Promise<void>;
  /** Releases what the store itself opened. Later calls reject. */
  close(): Promise<void>;
}
