/** Between two questions to a Redis that nothing else is done to. */
const everyMs = 20;
/** Redis had no core, if it takes longer. */
const promptMs = 40;

/**
 * Tells when Redis itself was slow to answer, which no limiter can help: the driver asks it all the time. On a machine that is not busy that is only
 * where the driver made it so.
 */
export function watch({ control }) {
  let slow = [];
  let over = false;
  const watching = (async () => {
    while (!over) {
      const from = Date.now();
      await control.ping();
      const until = Date.now();
      if (until - from > promptMs) slow.push({ from, until });
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  })();
  return {
    take() {
      const taken = slow;
      slow = [];
      return taken;
    },
    async stop() {
      over = true;
      await watching;
    },
  };
}
