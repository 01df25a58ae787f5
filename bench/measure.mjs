// How a process asks: N checks in flight for so many milliseconds, and what that cost it.
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Keys in an order that looks random and is the same in each run; every key comes once before one comes again. */
export function keyRing(count) {
  const keys = Array.from({ length: count }, (_, i) => `user-${i}`);
  let seed = 42;
  for (let i = count - 1; i > 0; i -= 1) {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    const j = seed % (i + 1);
    [keys[i], keys[j]] = [keys[j], keys[i]];
  }
  return keys;
}

/** Asks once for every key, so that each counter is there before anything is measured. */
export async function fill({ ask, keys }) {
  let next = 0;
  const worker = async () => {
    while (next < keys.length) await ask(keys[next++]);
  };
  await Promise.all(Array.from({ length: 256 }, worker));
}

/** A closed loop: each of `inFlight` workers asks again as soon as it is answered. Every check is timed. */
async function inLoop({ system, keys, inFlight, until, cell }) {
  const { ask, passed } = system;
  const { latencies, expected } = cell;
  const worker = async () => {
    let asked = performance.now();
    while (asked < until) {
      system.next = (system.next ?? 0) % keys.length;
      const answer = await ask(keys[system.next++]);
      const answered = performance.now();
      if (passed(answer) !== expected) cell.wrong += 1;
      if (cell.timed < latencies.length) latencies[cell.timed++] = answered - asked;
      cell.checks += 1;
      asked = answered;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}

/**
 * In bursts, as a busy server asks, with a look at the sockets after each: a loop of answers that wait for no socket would never let one be read.
 * A burst's last check is asked alone and timed: reading the clock for each would cost more than some answers.
 */
async function inBursts({ system, keys, inFlight, until, cell }) {
  const { ask, passed } = system;
  const { latencies, expected } = cell;
  const nextKey = () => {
    system.next = (system.next ?? 0) % keys.length;
    return keys[system.next++];
  };
  while (performance.now() < until) {
    const burst = [];
    for (let i = 1; i < inFlight; i += 1) burst.push(ask(nextKey()));
    const answers = await Promise.all(burst);
    const key = nextKey();
    const asked = performance.now();
    answers.push(await ask(key));
    if (cell.timed < latencies.length) latencies[cell.timed++] = performance.now() - asked;
    for (const answer of answers) if (passed(answer) !== expected) cell.wrong += 1;
    cell.checks += inFlight;
    await nextTurn();
  }
}

const cpuUs = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/** Asks for `ms`; `expected`: whether the checks are to pass. */
export async function drive({ system, keys, inFlight, ms, expected }) {
  // Made before anything is measured, so that measuring allocates nothing.
  const cell = { checks: 0, wrong: 0, timed: 0, expected, latencies: new Float64Array(Math.ceil(ms * 400) + 1000) };
  const cpuBefore = cpuUs();
  const start = performance.now();
  await (system.local ? inBursts : inLoop)({ system, keys, inFlight, until: start + ms, cell });
  const took = performance.now() - start;
  const { checks, wrong, timed, latencies } = cell;
  return { checks, wrong, ms: took, clientUs: cpuUs() - cpuBefore, latencies: latencies.slice(0, timed) };
}
