/** An admitted check, as the reference remembers it. Times in microseconds. */
export interface Take {
  readonly at: bigint;
  readonly cost: bigint;
  /** Concurrency: until when it surely held its units, and until when it perhaps did (both exclusive). */
  sureEnd?: bigint;
  possibleEnd?: bigint;
  /** Windows: the end of the window it lies in, set by the reference. */
  window?: bigint;
  /** Logs: whether it has left. */
  gone?: boolean;
}

/** Units that came back or were charged at an unknown moment: it `begin`s to be possible, and at its `end` it has happened. */
export interface Effect {
  readonly take: Take;
  /** In millionths. */
  readonly amount: bigint;
  readonly charge: boolean;
}

/** What one key has used, by a reference of its own: whole numbers of `1 / scale` units, nothing rounded. */
export interface Budget {
  readonly scale: bigint;
  advance(now: bigint): void;
  /** What is surely used, and what is used at most. The two differ only by roundings documented and by effects under way. */
  bounds(): { lo: bigint; hi: bigint };
  take(take: Take): void;
  /** False if an effect can have none any more. */
  begin(effect: Effect): boolean;
  end(effect: Effect): void;
}

export const million = 1_000_000n;
export const max0 = (n: bigint): bigint => (n > 0n ? n : 0n);
export const ceilDiv = (a: bigint, b: bigint): bigint => (a + b - 1n) / b;

/**
 * A level between two bounds. While an effect may or may not have happened it is `pending`: what the level is lies in
 * [late - pending, early + pending], where `early` had every effect at its earliest and `late` at its latest moment. (An earlier give-back
 * into a bucket leaves as much or more used at the end, since more of the refill then meets a full bucket; a charge the other way round.)
 */
export class Level {
  low = 0n;
  high = 0n;
  pending = 0n;

  begin(units: bigint, charge: boolean): void {
    this.pending += units;
    if (charge) this.low += units;
    else this.high = max0(this.high - units);
  }

  end(units: bigint, charge: boolean): void {
    this.pending -= units;
    if (charge) this.high += units;
    else this.low = max0(this.low - units);
  }

  bounds(more = 0n): { lo: bigint; hi: bigint } {
    return { lo: max0(this.low - this.pending) + more, hi: this.high + this.pending + more };
  }
}
