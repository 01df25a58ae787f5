import { fork } from 'node:child_process';
import { join } from 'node:path';
import { nextMessage } from '../support/worker-message.js';
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
        const ready = nextMessage(child);
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
      const answers = children.map(nextMessage);
      for (const child of children) child.send('stop');
      return (await Promise.all(answers)) as Recording[];
    },
    kill: () => {
      clearTimeout(tooLate);
      kill();
    },
  };
}
