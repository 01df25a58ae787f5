import { describe, expect, it } from 'vitest';
import type { Wake } from '../src/rules/changes.js';
import { follow } from '../src/rules/follow.js';
import { backoff, between, type Timing } from '../src/rules/timing.js';
import { later } from './support/service.js';

/** Time that passes when a test says so. */
function handTiming(random = 0.5): Timing & { pass(ms: number): Promise<void>; waiting(): number[] } {
  let now = 0;
  const timers = new Map<symbol, { at: number; callback: () => void }>();
  const settled = async (): Promise<void> => {
    for (let turns = 0; turns < 20; turns += 1) await Promise.resolve();
  };
  return {
    now: () => now,
    random: () => random,
    after(ms, callback) {
      const id = Symbol();
      timers.set(id, { at: now + ms, callback });
      return () => void timers.delete(id);
    },
    waiting: () => [...timers.values()].map(({ at }) => at - now),
    async pass(ms) {
      await settled();
      const until = now + ms;
      for (;;) {
        const [next] = [...timers].filter(([, { at }]) => at <= until).sort(([, a], [, b]) => a.at - b.at);
        if (next === undefined) break;
        timers.delete(next[0]);
        now = next[1].at;
        next[1].callback();
        await settled();
      }
      now = until;
    },
  };
}

function followed({ random = 0.5, readMs = 0 } = {}) {
  const timing = handTiming(random);
  const seen = {
    edition: 1 as number,
    looks: 0,
    reads: 0,
    reach: [] as string[],
    fail: false,
    wake: (() => undefined) as Wake,
    stopped: false,
  };
  const stop = follow(
    {
      async edition() {
        seen.looks += 1;
        if (seen.fail) throw new Error('away');
        return seen.edition;
      },
      async read() {
        seen.reads += 1;
        if (readMs > 0) await new Promise<void>((resolve) => timing.after(readMs, resolve));
      },
    },
    {
      timing,
      known: 1,
      onLook: (error) => seen.reach.push(error?.message ?? 'ok'),
      changes: {
        watch(wake) {
          seen.wake = wake;
          return () => void (seen.stopped = true);
        },
      },
    },
  );
  later(stop);
  return { timing, seen, stop };
}

describe('following a database', () => {
  it('looks every 30 to 60 s where nothing tells of changes, and reads only another edition', async () => {
    for (const [random, earliest] of [
      [0, 30_000],
      [0.999, 59_970],
    ] as const) {
      const { timing, seen } = followed({ random });
      await timing.pass(200);
      expect([seen.looks, seen.reads]).toEqual([1, 0]);
      seen.edition = 2;
      await timing.pass(earliest - 300);
      expect(seen.looks).toBe(1);
      await timing.pass(400);
      expect([seen.looks, seen.reads]).toEqual([2, 1]);
      await timing.pass(10 * 60_000);
      expect([seen.looks > 10, seen.reads]).toEqual([true, 1]);
    }
  });

  it('looks at once when it is told, within 200 ms, as all servers are told at the same time', async () => {
    for (const random of [0, 0.999]) {
      const { timing, seen } = followed({ random });
      await timing.pass(1000);
      seen.edition = 2;
      for (let told = 0; told < 50; told += 1) seen.wake(false);
      expect(timing.waiting()).toHaveLength(1);
      await timing.pass(200);
      expect([seen.looks, seen.reads]).toEqual([2, 1]);
    }
  });

  it('reads again whatever the edition is, if something may have been missed', async () => {
    const { timing, seen } = followed();
    await timing.pass(1000);
    seen.wake(false);
    await timing.pass(1000);
    expect([seen.looks, seen.reads]).toEqual([2, 0]);
    seen.wake(true);
    await timing.pass(1000);
    expect([seen.looks, seen.reads]).toEqual([3, 1]);
  });

  it('looks once more after what was told while it looked, and rests where reading takes long', async () => {
    const { timing, seen } = followed({ readMs: 500 });
    seen.edition = 2;
    await timing.pass(200);
    expect(seen.reads).toBe(1);
    seen.edition = 3;
    seen.wake(false);
    await timing.pass(500);
    // 0.5 s were spent on reading: 2 s are not.
    await timing.pass(1900);
    expect(seen.reads).toBe(1);
    await timing.pass(300);
    expect(seen.reads).toBe(2);
  });

  it('tries again soon, then less often, while the database is away, and at its pace when it is back', async () => {
    const { timing, seen } = followed({ random: 0.999 });
    seen.fail = true;
    await timing.pass(4000);
    expect(seen.looks).toBeGreaterThanOrEqual(3);
    await timing.pass(10 * 60_000);
    const before = seen.looks;
    await timing.pass(60_000);
    expect(seen.looks - before).toBe(2);
    expect(new Set(seen.reach)).toEqual(new Set(['away']));
    seen.fail = false;
    seen.wake(true);
    await timing.pass(200);
    expect([seen.reach.at(-1), seen.reads]).toEqual(['ok', 1]);
  });

  it('ends, also while it looks', async () => {
    const { timing, seen, stop } = followed({ readMs: 500 });
    seen.edition = 2;
    await timing.pass(200);
    const told = seen.reach.length;
    stop();
    await timing.pass(10 * 60_000);
    expect([seen.looks, seen.stopped, seen.reach.length, timing.waiting()]).toEqual([1, true, told, []]);
  });
});

it('waits are doubled up to a bound and shortened by chance', () => {
  const waits = (random: number) => {
    const pauses = backoff(handTiming(random), [100, 1000]);
    return Array.from({ length: 6 }, () => pauses.next());
  };
  expect(waits(0)).toEqual([50, 100, 200, 400, 500, 500]);
  expect(waits(0.5)).toEqual([75, 150, 300, 600, 750, 750]);
  const pauses = backoff(handTiming(0), [100, 1000]);
  for (let attempt = 0; attempt < 100; attempt += 1) expect(pauses.next()).toBeLessThanOrEqual(1000);
  pauses.reset();
  expect([pauses.next(), between(handTiming(0.25), [100, 200])]).toEqual([50, 125]);
});
