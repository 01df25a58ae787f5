import { constants } from 'node:os';

/**
 * Resolves at the first SIGTERM or SIGINT. A second one ends the process at once, with 128 and the signal's number, as shells have it: what is in
 * flight is not answered, and leases are not given back.
 */
export function stopSignals(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (asked) process.exit(128 + constants.signals[signal]);
        asked = true;
        resolve();
      });
    }
  });
}
