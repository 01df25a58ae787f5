import { between, type Timing } from '../rules/timing.js';
import type { Database } from './open.js';

/** Between sweeps, in milliseconds, and how many rows of each table go at a time. */
const everyMs = [60_000, 120_000] as const;
const atOnce = 1000;
const pauseMs = 100;

/** Removes what has ended, now and then, some at a time. An outage is told by who reads. The function returned ends it. */
export function startSweeping({ sweep }: Pick<Database, 'sweep'>, timing: Timing): () => void {
  let isStopped = false;
  let cancel: () => void = () => undefined;

  async function sweepOnce(): Promise<void> {
    const removed = await sweep(atOnce).catch(() => 0);
    if (!isStopped) later(removed < atOnce ? between(timing, everyMs) : pauseMs);
  }
  function later(ms: number): void {
    cancel = timing.after(ms, () => void sweepOnce());
  }

  later(between(timing, everyMs));
  return () => {
    isStopped = true;
    cancel();
  };
}
