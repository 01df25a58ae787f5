import { systemTiming, type Timing } from '../rules/timing.js';

/** How often a worker is asked whether it is there, in milliseconds. */
export const askEveryMs = 2000;
/** It may leave so many of these questions unanswered, one after the other. */
export const mostUnanswered = 5;

export interface PulseOptions {
  readonly ask: () => void;
  /** Called once, after which nothing is asked any more. */
  readonly onSilent: () => void;
  readonly timing?: Timing;
}

export interface Pulse {
  answered(): void;
  stop(): void;
}

/**
 * Asks a process again and again whether it is there. Questions are counted, not time: after a machine has slept, or the process that asks has stood still, the
 * others have had as little time as it.
 */
export function pulse({ ask, onSilent, timing = systemTiming }: PulseOptions): Pulse {
  let unanswered = 0;
  let cancel: () => void;
  function beat(): void {
    if (unanswered >= mostUnanswered) {
      onSilent();
      return;
    }
    unanswered += 1;
    ask();
    cancel = timing.after(askEveryMs, beat);
  }
  cancel = timing.after(askEveryMs, beat);
  return {
    answered: () => void (unanswered = 0),
    stop: () => cancel(),
  };
}
