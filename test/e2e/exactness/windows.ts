import type { CountedSpec } from './history.js';
import { ceilDiv, Level, million, type Budget, type Effect } from './level.js';

const hourUs = 3_600_000_000n;
const alignedEnd = (now: bigint, length: bigint): bigint => (now / length + 1n) * length;

/** Fixed windows and quotas. A window that has ended is forgotten, with all that was under way in it. */
export function window(spec: CountedSpec & { kind: 'fixedWindow' | 'quota' }): Budget {
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
export function slidingWindow({ windowUs }: CountedSpec & { kind: 'slidingWindow' }): Budget {
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
