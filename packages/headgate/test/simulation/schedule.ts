import type { Clock } from '../../src/clock.js';

/** Things happen at multiples of this, so that a run has few instants, after each of which every promise settles. */
export const quantumUs = 1000;

/** Virtual time, from 0: what is due is called in the order of its time, then in the order in which it was asked for. */
export class Schedule {
  readonly #due = new Map<number, (() => void)[]>();
  #tick = 0;

  /** Microseconds since the run began. */
  get nowUs(): number {
    return this.#tick * quantumUs;
  }

  /** Never within the present instant: what takes no time at all would be no message. */
  at(us: number, callback: () => void): void {
    const tick = Math.max(this.#tick + 1, Math.ceil(us / quantumUs));
    const due = this.#due.get(tick);
    if (due === undefined) this.#due.set(tick, [callback]);
    else due.push(callback);
  }

  async run(untilUs: number): Promise<void> {
    for (const last = Math.floor(untilUs / quantumUs); this.#tick < last;) {
      this.#tick += 1;
      const due = this.#due.get(this.#tick);
      if (due === undefined) continue;
      this.#due.delete(this.#tick);
      for (const callback of due) callback();
      // Once this is called back, all promises and ticks of this instant have been.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }
}

/** 2026-01-01T00:00:00Z, where clocks that are right begin. */
const epochUs = 1_767_225_600_000_000;

/** The clock of one machine, which is wrong by so much; its timers are called as long as the machine runs. */
export function clockOf(schedule: Schedule, offsetUs: number, isUp: () => boolean = () => true): Clock {
  return {
    nowUs: () => epochUs + offsetUs + schedule.nowUs,
    after(ms, callback) {
      let cancelled = false;
      schedule.at(schedule.nowUs + ms * 1000, () => {
        if (!cancelled && isUp()) callback();
      });
      return () => {
        cancelled = true;
      };
    },
  };
}
