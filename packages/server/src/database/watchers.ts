import type { Wake } from '../rules/changes.js';

/** Something that runs as long as anybody watches. */
export interface Watchers {
  watch(wake: Wake): () => void;
  /** Ends it for all. */
  stop(): void;
}

/** Shares one watch among all who want to know: begun with the first of them, ended with the last. */
export function watchers(start: (wake: Wake) => () => void): Watchers {
  const wakes = new Set<Wake>();
  let end: (() => void) | undefined;

  function stop(): void {
    wakes.clear();
    end?.();
    end = undefined;
  }

  return {
    watch(wake) {
      // A function of its own for each: the same one may watch twice.
      const mine: Wake = (missed) => wake(missed);
      wakes.add(mine);
      end ??= start((missed) => {
        for (const each of [...wakes]) each(missed);
      });
      return () => {
        wakes.delete(mine);
        if (wakes.size === 0) stop();
      };
    },
    stop,
  };
}
