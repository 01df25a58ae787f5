import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { nextMessage } from '../../support/worker-message.js';
import type { CorrectionRecord, DecisionRecord, History } from './history.js';

export interface RunOptions {
  readonly url: string;
  readonly seed: number;
  readonly processes: number;
  /** How long to ask, in milliseconds. */
  readonly ms: number;
  /** Loops in each process, each with one question on its way. */
  readonly loops: number;
  /** Decisions of one process at most. */
  readonly most: number;
  readonly store: 'redis' | 'racy';
  /** After half of the questions a loop sleeps for up to so long: a machine with few cores is full otherwise, and its brackets grow wide. */
  readonly pauseMs: number;
  /** Whether a loop asks several questions at once now and then. */
  readonly bursts?: boolean;
}

interface Answer {
  readonly decisions: DecisionRecord[];
  readonly corrections: CorrectionRecord[];
  readonly degraded: number;
  readonly unreturned: number;
}

export interface Recorded extends History {
  /** By the limiters' own count. */
  readonly degraded: number;
  readonly unreturned: number;
}

const worker = fileURLToPath(new URL('worker.mjs', import.meta.url));

/** Runs worker processes against one Redis, all at once, and merges what they recorded. */
export async function record({ processes, ...options }: RunOptions): Promise<Recorded> {
  const children = Array.from({ length: processes }, () => fork(worker, { serialization: 'advanced', execArgv: [] }));
  const tooLate = setTimeout(() => children.forEach((child) => child.kill('SIGKILL')), options.ms + 40_000);
  try {
    await Promise.all(
      children.map(async (child, number) => {
        const ready = nextMessage(child);
        child.send({ ...options, number });
        await ready;
      }),
    );
    const answers = (await Promise.all(
      children.map((child) => {
        const answer = nextMessage(child);
        child.send('go');
        return answer;
      }),
    )) as Answer[];
    return {
      decisions: answers.flatMap(({ decisions }) => decisions),
      corrections: answers.flatMap(({ corrections }) => corrections),
      degraded: answers.reduce((sum, { degraded }) => sum + degraded, 0),
      unreturned: answers.reduce((sum, { unreturned }) => sum + unreturned, 0),
    };
  } finally {
    clearTimeout(tooLate);
    for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  }
}
