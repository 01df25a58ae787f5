import type { CountedSpec } from './history.js';
import { Level, max0, million, type Budget, type Effect, type Take } from './level.js';
import { slidingWindow, window } from './windows.js';

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
