import { fork } from 'node:child_process';
import { join } from 'node:path';

const worker = join(import.meta.dirname, 'worker.mjs');

/** A process that has closed everything ends by itself within that time. */
const endsWithinMs = 5000;
/** Nothing a process is told to do takes so long. */
const tooLongMs = 30_000;

/** What a process says next. */
function answerOf(child) {
  return new Promise((resolve, reject) => {
    const settle = (how, value) => {
      clearTimeout(timer);
      child.off('message', said);
      child.off('exit', ended);
      how(value);
    };
    const said = (message) => settle(resolve, message);
    const ended = (code, signal) => settle(reject, new Error(`a process under load ended (${signal ?? `code ${code}`})`));
    const timer = setTimeout(() => settle(reject, new Error('a process under load did not answer its driver')), tooLongMs);
    child.on('message', said);
    child.on('exit', ended);
  });
}

const endOf = (child) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, endsWithinMs, false);
    child.once('exit', (code) => {
      clearTimeout(timer);
      resolve(code === 0);
    });
  });

/** Starts the processes under load; each is told what to do by its driver, and ends with it. */
export async function startLoad({ processes, rate, ...options }) {
  const children = Array.from({ length: processes }, () =>
    fork(worker, { serialization: 'advanced', execArgv: ['--expose-gc', '--no-warnings'] }),
  );
  const kill = () => {
    for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  };
  process.once('exit', kill);
  const tell = (order) =>
    Promise.all(
      children.map((child) => {
        const answer = answerOf(child);
        child.send(order);
        return answer;
      }),
    );
  const load = {
    go: () => children.forEach((child) => child.send({ order: 'go' })),
    /** Those that come and go are gone; the rest of the load goes on. */
    calm: () => tell({ order: 'calm' }),
    /** What each process holds and has counted; nothing is asked from then on. */
    rest: (options) => tell({ order: 'rest', ...options }),
    /** The last counts, and whether all processes ended by themselves. */
    async end() {
      const ends = children.map(endOf);
      const counts = await tell({ order: 'end' });
      return { counts, byThemselves: (await Promise.all(ends)).every(Boolean) };
    },
    kill() {
      process.removeListener('exit', kill);
      kill();
    },
  };
  try {
    await tell({ ...options, perSecond: rate / processes });
  } catch (error) {
    load.kill();
    throw error;
  }
  return load;
}
