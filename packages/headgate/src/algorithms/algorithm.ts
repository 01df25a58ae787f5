import type { CountedLimit } from '../limit.js';
import type { LoneOutcome, Outcome, Receipt } from '../stores/store.js';

/** What a check asks of an algorithm. `state` is as `current` returned it. Times in microseconds. */
export interface Ask<L extends CountedLimit, S> {
  readonly state: S;
  readonly limit: L;
  readonly now: number;
  readonly cost: number;
  /** The least that is acceptable; 0 charges whatever happens. Absent: the cost. */
  readonly least?: number | undefined;
  readonly aheadUs?: number | undefined;
  readonly countRefused?: boolean | undefined;
  readonly holder?: string | undefined;
}

/** A state after a check, allowed or not. A refused one is the state given, but for `countRefused`. */
export interface Step<S> {
  readonly state: S;
  readonly allowed: boolean;
  readonly taken: number;
}

/**
 * The few numbers that say all a client may know of a state: what the Redis script replies, and what `describe` turns into a
 * decision's fields, so that both stores describe alike. The first number is at least 0.
 */
export type View = readonly number[];

/** Whose view: what a check of this cost would see. */
export interface Look<L extends CountedLimit> {
  readonly limit: L;
  readonly now: number;
  readonly cost: number;
}

/** Three numbers of a budget, written over at each take: a new object each would cost the garbage collector more than deciding costs. */
export interface Cells {
  a: number;
  b: number;
  c: number;
}

/** A check that asks for its cost, and nothing else. */
export interface PlainCheck<L extends CountedLimit> {
  readonly limit: L;
  readonly cost: number;
}

/** Units coming back to a stored state. */
export interface Back<L extends CountedLimit, S> {
  readonly stored: S;
  readonly receipt: Receipt & { readonly limit: L };
  readonly now: number;
  readonly units: number;
  /** Consecutive failures only: all that is counted is forgotten, as the attempt succeeded. */
  readonly forget?: boolean | undefined;
  /** Windows and quotas only: the count stays at this at least. */
  readonly downTo?: number | undefined;
}

export interface Description {
  readonly remaining: number;
  /** When this cost could pass, counted from now; 0 if it could now, `Infinity` if never. */
  readonly retryAfterUs: number;
  readonly resetAfterUs: number;
  readonly windowEnd?: number;
  /** Of consecutive failures: how many are counted. */
  readonly failures?: number;
}

/**
 * One limit's arithmetic: pure functions of state, limit, now and cost, in whole numbers. Each has a twin in
 * `stores/redis/scripts/lib`, and one suite drives both.
 */
export interface Algorithm<L extends CountedLimit, S> {
  /** How a state is kept in place; absent where it is more than three numbers, and kept as it is. */
  readonly cells?: { read(cells: Readonly<Cells>): S; write(cells: Cells, state: S): void };
  /** How many numbers a View has. */
  readonly viewSize: number;
  /** A stored state brought to `now`: refilled, rolled, expired. An absent one is a full budget. */
  current(stored: S | undefined, limit: L, now: number): S;
  /**
   * Whether a stored state reaches further than this limit ever would, as after a clock went back or a window was shortened. The
   * store then writes the current state though a check was refused: else it would be cut anew at every check, and never end.
   */
  overreaches(stored: S, limit: L, now: number): boolean;
  take(ask: Ask<L, S>): Step<S>;
  /**
   * The same as `current`, `take` and `describe` for a check without options that passes, in place: nothing is made on the way but the
   * answer. Undefined, and nothing changed, if it does not pass.
   */
  pass?(cells: Cells, check: PlainCheck<L>, now: number): LoneOutcome | undefined;
  /** `state` as `current` or `take` returned it. */
  view(look: Look<L> & { readonly state: S }): View;
  describe(look: Look<L> & { readonly view: View }): Description;
  /**
   * The stored state after at most `units` came back, by the rule of giving back, and how many did. Works on the state as it
   * is stored, so that a limit changed meanwhile does not matter.
   */
  giveBack(back: Back<L, S>): { state: S; returned: number };
  /** When the state is worth no more than an absent one, in microseconds since 1970; at or before now: already. */
  expiresAt(state: S, limit: L, now: number): number;
}

type Writable<T> = { -readonly [Field in keyof T]: T[Field] };

/** The answer to a check that passes. */
export function passed(
  { cost }: PlainCheck<CountedLimit>,
  now: number,
  { remaining, resetAfterUs }: Pick<Outcome, 'remaining' | 'resetAfterUs'>,
): Writable<LoneOutcome> {
  return { allowed: true, taken: cost, remaining, retryAfterUs: 0, resetAfterUs, reason: 'ok', now, source: 'store', degraded: false };
}

/** Counts of windows stop here, far above any limit, so that arithmetic on them stays exact. */
export const largestCount = 1e14;

/** How much of `cost` fits into `free` units: all, or at least `least`; 0 if it does not fit. */
export function fit(free: number, cost: number, least: number | undefined): number {
  if (cost <= free) return cost;
  return least !== undefined && least > 0 && least <= free ? free : 0;
}
