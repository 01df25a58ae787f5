import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { CountedSpec } from './exactness/history.js';

export interface LoadOptions {
  readonly port: number;
  readonly processes: number;
  readonly rules: Readonly<Record<string, CountedSpec>>;
  /** All ask for one key, or each check for a new one, the rules in turn. */
  readonly keyed: 'one' | 'new';
  /** Checks that a process has on their way at once: what comes above that is not asked, so that a busy machine is driven only as far as it goes. */
  readonly mostWaiting?: number;
  /** In milliseconds. */
  readonly deadline: number;
  readonly notes?: { readonly max: number };
}

/** How a process does: what it counted since it began, and its heap after a collection. */
export interface Look {
  readonly asked: number;
  readonly answered: number;
  readonly bySource: Readonly<Record<string, number>>;
  /** Microseconds, by the store's clock; empty unless one key is asked for. */
  readonly passedAt: readonly number[];
  readonly stats: {
    readonly checks: number;
    readonly degraded: number;
    readonly noted: number;
    readonly notes: number;
    readonly owing: number;
  };
  readonly heapUsed: number;
  readonly errors: readonly string[];
}

/** Processes that wait to be told. Each order is answered by all of them. */
export interface Load {
  /** Begins to ask, or goes on at another pace: so many times a second by all processes together. */
  go(perSecond: number): Promise<readonly Look[]>;
  look(): Promise<readonly Look[]>;
  /** Ends the asking, and waits for the answers. */
  halt(): Promise<readonly Look[]>;
  end(): Promise<readonly Look[]>;
  kill(): void;
}

const worker = join(import.meta.dirname, 'attack-load.mjs');

/** The next message of a process; rejects if it ends without one. */
function message(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onMessage = (said: unknown): void => {
      child.off('exit', onExit);
      resolve(said);
    };
    const onExit = (code: number | null, signal: string | null): void => {
      child.off('message', onMessage);
      reject(new Error(`a worker ended with ${signal ?? code}`));
    };
    child.once('message', onMessage);
    child.once('exit', onExit);
  });
}

/** Starts the processes; each has made its limiter and reached Redis when this resolves. */
export async function startLoad({ processes, ...options }: LoadOptions): Promise<Load> {
  const children = Array.from({ length: processes }, () => fork(worker, { execArgv: ['--expose-gc', '--no-warnings'] }));
  const tell = (what: (number: number) => object): Promise<unknown[]> =>
    Promise.all(
      children.map((child, number) => {
        const answer = message(child);
        child.send(what(number));
        return answer;
      }),
    );
  const order = (what: object) => tell(() => what) as Promise<Look[]>;
  const kill = (): void => {
    for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  };
  try {
    await tell((number) => ({ ...options, number }));
  } catch (error) {
    kill();
    throw error;
  }
  return {
    go: (perSecond) => order({ perSecond: perSecond / processes }),
    look: () => order({}),
    halt: () => order({ halt: true }),
    end: () => order({ end: true }),
    kill,
  };
}
