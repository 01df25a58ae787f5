import type { CountedSpec } from './history.js';

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

const million = 1_000_000n;
const max0 = (n: bigint): bigint => (n > 0n ? n : 0n);
const ceilDiv = (a: bigint, b: bigint): bigint => (a + b - 1n) / b;

/**
 * A level between two bounds. While an effect may or may not have happened it is `pending`: what the level is lies in
 * [late - pending, early + pending], where `early` had every effect at its earliest and `late` at its latest moment. (An earlier give-back
 * into a bucket leaves as much or more used at the end, since more of the refill then meets a full bucket; a charge the other way round.)
 */
class Level {
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

/**
 * A virtual bucket: that it never exceeds its capacity is the same as that in every interval t at most capacity + refill x t passed.
 * `high` also grows by a millionth per take, which Headgate documents as its rounding.
 */
function bucket({ units, perUs }: CountedSpec & { kind: 'tokenBucket' }): Budget {
  const scale = BigInt(perUs) * million;
  const rate = BigInt(units) * million;
  const millionth = BigInt(perUs);
  const level = new Level();
  let at = 0n;
  const amountOf = ({ amount, charge }: Effect): bigint => amount * millionth + (charge ? millionth : 0n);
  return {
    scale,
    advance(now) {
      const flowed = (now - at) * rate;
      level.low = max0(level.low - flowed);
      level.high = max0(level.high - flowed);
      at = now;
    },
    bounds: () => level.bounds(),
    take({ cost }) {
      level.low += cost * scale;
      level.high += cost * scale + millionth;
    },
    begin(effect) {
      level.begin(amountOf(effect), effect.charge);
      return true;
    },
    end(effect) {
      level.end(amountOf(effect), effect.charge);
      // A charge may round up, and may not: only `high` keeps the millionth.
      if (effect.charge) level.low = max0(level.low - millionth);
    },
  };
}

const hourUs = 3_600_000_000n;
const alignedEnd = (now: bigint, length: bigint): bigint => (now / length + 1n) * length;

/** Fixed windows and quotas. A window that has ended is forgotten, with all that was under way in it. */
function window(spec: CountedSpec & { kind: 'fixedWindow' | 'quota' }): Budget {
  const length = spec.kind === 'quota' ? hourUs : BigInt(spec.windowUs);
  const fromFirst = spec.kind === 'fixedWindow' && spec.from === 'first-request';
  let level = new Level();
  let end = -1n;
  let now = 0n;
  const isOpen = ({ take }: Effect): boolean => take.window === end && end > now;
  return {
    scale: 1n,
    advance(to) {
      now = to;
      if (end > now) return;
      level = new Level();
      end = fromFirst ? -1n : alignedEnd(now, length);
    },
    bounds: () => level.bounds(),
    take(take) {
      if (end < 0n) end = now + length;
      take.window = end;
      level.low += take.cost;
      level.high += take.cost;
    },
    begin(effect) {
      if (!isOpen(effect)) return false;
      level.begin(effect.amount / million, effect.charge);
      return true;
    },
    end(effect) {
      if (isOpen(effect)) level.end(effect.amount / million, effect.charge);
    },
  };
}

/** The stated model of the sliding window counter: the previous window's units, weighted by its overlap and rounded up, and this one's. */
function slidingWindow({ windowUs }: CountedSpec & { kind: 'slidingWindow' }): Budget {
  const length = BigInt(windowUs);
  let level = new Level();
  let previous = 0n;
  let end = 0n;
  let now = 0n;
  const isOpen = ({ take }: Effect): boolean => take.window === end && end > now;
  return {
    scale: 1n,
    advance(to) {
      now = to;
      const current = alignedEnd(now, length);
      if (current === end) return;
      // Whatever was returned was returned before the window ended, and `high` has it all.
      previous = current - end === length ? level.high : 0n;
      level = new Level();
      end = current;
    },
    bounds: () => level.bounds(ceilDiv((end - now) * previous, length)),
    take(take) {
      take.window = end;
      level.low += take.cost;
      level.high += take.cost;
    },
    begin(effect) {
      if (!isOpen(effect)) return false;
      level.begin(effect.amount / million, effect.charge);
      return true;
    },
    end(effect) {
      if (isOpen(effect)) level.end(effect.amount / million, effect.charge);
    },
  };
}

/** Every take of the last window, each with its own level, so that what it gave back leaves with it. */
function slidingLog({ windowUs }: CountedSpec & { kind: 'slidingLog' }): Budget {
  const length = BigInt(windowUs);
  const entries = new Map<Take, Level>();
  const levelOf = ({ take }: Effect): Level | undefined => (take.gone ? undefined : entries.get(take));
  return {
    scale: 1n,
    advance(now) {
      for (const take of entries.keys()) {
        if (take.at + length > now) break;
        take.gone = true;
        entries.delete(take);
      }
    },
    bounds() {
      let [lo, hi] = [0n, 0n];
      for (const level of entries.values()) {
        const of = level.bounds();
        lo += of.lo;
        hi += of.hi;
      }
      return { lo, hi };
    },
    take(take) {
      const level = new Level();
      level.low = level.high = take.cost;
      entries.set(take, level);
    },
    begin(effect) {
      const level = levelOf(effect);
      level?.begin(effect.amount / million, effect.charge);
      return level !== undefined;
    },
    end: (effect) => levelOf(effect)?.end(effect.amount / million, effect.charge),
  };
}

/** Holders; when each ended is found out beforehand, from its releases and extensions. */
function concurrency(): Budget {
  let holders: Take[] = [];
  let now = 0n;
  const sum = (takes: readonly Take[]): bigint => takes.reduce((units, { cost }) => units + cost, 0n);
  return {
    scale: 1n,
    advance(to) {
      now = to;
      holders = holders.filter(({ possibleEnd = 0n }) => possibleEnd > now);
    },
    bounds: () => ({ lo: sum(holders.filter(({ sureEnd = 0n }) => sureEnd > now)), hi: sum(holders) }),
    take: (take) => void holders.push(take),
    begin: () => false,
    end: () => undefined,
  };
}

export function budgetOf(spec: CountedSpec): Budget {
  switch (spec.kind) {
    case 'tokenBucket':
      return bucket(spec);
    case 'fixedWindow':
    case 'quota':
      return window(spec);
    case 'slidingWindow':
      return slidingWindow({ ...spec, kind: 'slidingWindow' });
    case 'slidingLog':
      return slidingLog({ ...spec, kind: 'slidingLog' });
    case 'concurrency':
      return concurrency();
  }
}
