/** Milliseconds between two looks at the clock. */
const everyMs = 2;
/** A turn of the event loop that took longer is told of. */
const stallMs = 40;
/** The part of the full pace that a process begins with, whose code is not compiled yet. */
const first = 0.25;

/**
 * An open loop: calls `ask` so many times a second whatever becomes of the answers, and after a stall as often as was missed; at first less,
 * until it has been going for `rampMs`. Unlike the fault run's it can rest, and keeps nothing: what is measured here is whether memory stays flat.
 */
export function pace({ perSecond, rampMs, ask, onStall }) {
  let timer;
  let goneMs = 0;
  return {
    start() {
      let last = performance.now();
      let due = 0;
      const tick = () => {
        const now = performance.now();
        const turnMs = now - last;
        if (turnMs > stallMs) onStall(turnMs);
        last = now;
        goneMs += turnMs;
        due += (turnMs * perSecond * Math.min(1, first + ((1 - first) * goneMs) / rampMs)) / 1000;
        timer = setTimeout(tick, everyMs);
        for (; due >= 1; due -= 1) ask();
      };
      tick();
    },
    stop: () => clearTimeout(timer),
  };
}
