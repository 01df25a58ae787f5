/** Milliseconds between two looks at the clock. */
const everyMs = 2;

/**
 * An open loop: calls `ask` so many times a second whatever becomes of the answers, and after a stall as often as was missed. From one look at
 * the clock to the next it also sees how long a turn of the event loop took, whatever held it up: another process on the core included.
 */
export function pace({ perSecond, wall, ask }) {
  const turns = [];
  const began = performance.now();
  let asked = 0;
  let last = began;
  let timer;
  const tick = () => {
    const now = performance.now();
    const lag = now - last - everyMs;
    if (lag > 1) turns.push({ until: wall(), lag });
    last = now;
    timer = setTimeout(tick, everyMs);
    for (const due = Math.floor(((now - began) * perSecond) / 1000); asked < due; asked += 1) ask();
  };
  tick();
  return { turns, stop: () => clearTimeout(timer) };
}
