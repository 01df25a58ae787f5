import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Connect, Recording } from './recording.js';

export interface FleetOptions {
  readonly processes: number;
  readonly client: 'ioredis' | 'node-redis';
  readonly connect: Connect;
  readonly perSecond: number;
  /** In milliseconds. */
  readonly deadline: number;
  readonly keys: readonly string[];
}

/** The app processes under load. */
export interface Fleet {
  readonly size: number;
  /** Keeps one process's event loop busy, after what it asked has been sent or, in the same turn, before. */
  stall(process: number, ms: number, sameTurn: boolean): void;
  /** Ends the load, and collects what was recorded. */
  end(): Promise<Recording[]>;
  kill(): void;
}

const worker = join(import.meta.dirname, 'worker.mjs');
/** Longer than any fault lasts. */
const tooLongMs = 90_000;

/** The next message of a worker; rejects if it ends without one. */
function message(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('error', reject);
    // Its end may be known before the last that it said is read.
    const ended = (): void => reject(new Error(`a worker ended with ${child.signalCode ?? child.exitCode}`));
    child.once('exit', () => (child.connected ? child.once('disconnect', ended) : ended()));
  });
}

/** Starts the processes, and the load once all of them are connected. */
export async function startFleet({ processes, ...options }: FleetOptions): Promise<Fleet> {
  const children = Array.from({ length: processes }, () => fork(worker, { serialization: 'advanced', execArgv: ['--no-warnings'] }));
  const kill = (): void => {
    for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  };
  const tooLate = setTimeout(kill, tooLongMs);
  try {
    await Promise.all(
      children.map((child) => {
        const ready = message(child);
        child.send(options);
        return ready;
      }),
    );
    for (const child of children) child.send('go');
  } catch (error) {
    clearTimeout(tooLate);
    kill();
    throw error;
  }
  return {
    size: processes,
    stall: (process, ms, sameTurn) => void children[process]?.send({ stall: ms, sameTurn }),
    end: async () => {
      const answers = children.map(message);
      for (const child of children) child.send('stop');
      return (await Promise.all(answers)) as Recording[];
    },
    kill: () => {
      clearTimeout(tooLate);
      kill();
    },
  };
}
