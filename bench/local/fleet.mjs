import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const worker = join(import.meta.dirname, 'worker.mjs');

/** What all processes of this machine agree on, in milliseconds. */
export const sharedNow = () => Number(process.hrtime.bigint()) / 1e6;

/** The next message of a process; rejects if it ends without one. */
function nextMessage(child) {
  return new Promise((resolve, reject) => {
    const ended = (code, signal) => reject(new Error(`a process ended with ${signal ?? code}`));
    child.once('exit', ended);
    child.once('message', (said) => {
      child.off('exit', ended);
      resolve(said);
    });
  });
}

/** Starts processes, each with a limiter for each system; they have reached Redis when this resolves. They end with this one. */
export async function startFleet({ processes, ...options }) {
  const children = Array.from({ length: processes }, () => fork(worker, { serialization: 'advanced' }));
  const tell = (what) =>
    Promise.all(
      children.map((child, number) => {
        const answer = nextMessage(child);
        child.send(what(number));
        return answer;
      }),
    );
  await tell(() => ({ deadline: '2s', fleetSize: processes, ...options }));
  return {
    processes,
    /** From one moment to another by `sharedNow`; `seriesOf` a process's number is what it asks. Answers by process, then by series. */
    run: ({ startAt, endAt, seriesOf, record }) => tell((number) => ({ startAt, endAt, record, series: seriesOf(number) })),
    async end() {
      const ends = children.map((child) => once(child, 'exit'));
      for (const child of children) child.send({ end: true });
      await Promise.all(ends);
    },
  };
}

/** Of so many checks a second over all processes, those of one: spread evenly, or nine tenths by the first. */
export function partOf({ perSecond, traffic, processes, number }) {
  if (traffic === 'even') return perSecond / processes;
  return number === 0 ? perSecond * 0.9 : (perSecond * 0.1) / (processes - 1);
}
