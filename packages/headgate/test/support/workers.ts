import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { windowAwayFromEdge } from './away-from-edges.js';

const file = fileURLToPath(new URL('check-worker.mjs', import.meta.url));

/** For each rule its maker and the maker's options. */
export type WorkerRules = Readonly<Record<string, readonly [maker: string, options: Readonly<Record<string, unknown>>]>>;

/** A rule for each kind of limit: 5 units in an hour or more, whose windows do not end while a test runs. */
export function fiveOfEachKind(): WorkerRules {
  const window = windowAwayFromEdge(3_600_000);
  return {
    bucket: ['tokenBucket', { capacity: 5, refill: '1/h' }],
    window: ['fixedWindow', { limit: 5, window }],
    fromFirst: ['fixedWindow', { limit: 5, window: '1h', from: 'first-request' }],
    sliding: ['slidingWindow', { limit: 5, window }],
    log: ['slidingLog', { limit: 5, window: '1h' }],
    quota: ['quota', { limit: 5, period: 'year' }],
    holders: ['concurrency', { limit: 5, expires: '1h' }],
    failures: ['consecutiveFailures', { limit: 5, free: 4 }],
  };
}

export interface WorkerAnswer {
  readonly passed: number;
  readonly degraded: number;
  readonly waitsMs: readonly number[];
}

export interface Worker {
  check(asked: { rule: string; key: string; times: number; parallel?: boolean }): Promise<WorkerAnswer>;
  stop(): Promise<void>;
}

interface Reply {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

/** Where a worker's counters are: one Redis by its URL, several by name, or a cluster by one node's. */
export type WorkerStore = string | { readonly shards: Readonly<Record<string, string>> } | { readonly cluster: string };

/** A process of its own with a limiter over Redis; `skewMs`: by how much its clock is wrong. Runs the built library. */
export async function startWorker(store: WorkerStore, rules: WorkerRules, skewMs = 0): Promise<Worker> {
  const child: ChildProcess = fork(file, [String(skewMs)]);
  await once(child, 'message');
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  let ids = 0;
  child.on('message', ({ id, result, error }: Reply) => {
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) asked?.resolve(result);
    else asked?.reject(new Error(error));
  });
  child.on('exit', (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`the worker ended with code ${String(code)}`));
  });
  const ask = (job: string, options: object): Promise<unknown> =>
    new Promise((resolve, reject) => {
      ids += 1;
      waiting.set(ids, { resolve, reject });
      child.send({ id: ids, job, ...options });
    });
  await ask('start', { store, rules });
  return {
    check: (asked) => ask('check', asked) as Promise<WorkerAnswer>,
    async stop() {
      if (child.exitCode !== null) return;
      const exit = once(child, 'exit');
      ask('stop', {}).catch(() => undefined);
      await exit;
    },
  };
}
