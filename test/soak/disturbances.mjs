import { setTimeout as sleep } from 'node:timers/promises';

/** How long an outage lasts. */
const outageMs = 1000;
/** By then everything is as it was, as the fault run holds it: a client that was cut off has a connection, and the breaker is closed. */
export const backMs = 1000;

const killAll = (control) => control.client('KILL', 'TYPE', 'normal');

async function pause({ control }) {
  await control.client('PAUSE', outageMs, 'ALL');
  await control.ping();
}

/** Connections stay open and nothing is answered. */
async function freeze({ control, pid }) {
  process.kill(pid, 'SIGSTOP');
  try {
    await sleep(outageMs);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await control.ping();
}

/** Connections are gone, and new ones are accepted but not answered. */
async function cutOff(server) {
  const killed = killAll(server.control);
  await pause(server);
  await killed;
}

const outages = [
  { cause: 'pause', strike: pause },
  { cause: 'freeze', strike: freeze },
  { cause: 'cut off', strike: cutOff },
];
const kill = { cause: 'kill', strike: ({ control }) => killAll(control) };

/**
 * Cuts all connections but the driver's each time it is asked to, and every so often makes an outage instead, each kind in turn. Tells each
 * with its time by the wall clock, until when decisions may be made without the store.
 */
export function disturbances(server, { outageEveryMs }) {
  let made = 0;
  let nextOutage = performance.now() + outageEveryMs / 2;
  return async () => {
    const isOutage = performance.now() >= nextOutage;
    const { cause, strike } = isOutage ? outages[made % outages.length] : kill;
    if (isOutage) {
      made += 1;
      nextOutage += outageEveryMs;
    }
    const from = Date.now();
    await strike(server);
    return { cause, from, until: Date.now() + backMs };
  };
}
