import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const usual = join(import.meta.dirname, 'worker.mjs');

/** Has a process do something; rejects if it fails or ends. */
function tell(child, verb, what) {
  return new Promise((resolve, reject) => {
    const ended = (code, signal) => reject(new Error(`a process ended with ${signal ?? code}`));
    child.once('exit', ended);
    child.once('message', ({ answer, error }) => {
      child.off('exit', ended);
      if (error === undefined) resolve(answer);
      else reject(new Error(error));
    });
    child.send({ verb, ...what });
  });
}

/** Starts processes that ask, each with what the settings say; they end with this one. */
export async function startProcesses({ count, worker = usual, ...settings }) {
  const children = Array.from({ length: count }, () => fork(worker, { serialization: 'advanced' }));
  const all = (verb, what) => Promise.all(children.map((child) => tell(child, verb, what)));
  await Promise.all(children.map((child, number) => tell(child, 'open', { ...settings, part: number / count })));
  return {
    /** By the first alone: the counters are everybody's. */
    fill: (what) => tell(children[0], 'fill', what),
    drive: (what) => all('drive', what),
    /** Answers how many decisions were degraded. */
    async close() {
      const degraded = await all('close');
      for (const child of children) child.disconnect();
      await Promise.all(children.map((child) => (child.exitCode === null ? once(child, 'exit') : undefined)));
      return degraded.reduce((sum, one) => sum + one, 0);
    },
  };
}
