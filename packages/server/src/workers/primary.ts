import cluster, { type Worker } from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { Counter, Gauge, Registry } from 'prom-client';
import type { Config } from '../config.js';
import { createLogger, type Logger } from '../observe/logger.js';
import { backoff, systemTiming } from '../rules/timing.js';
import { clearSocketPath } from '../socket-file.js';
import { gathering } from './gathering.js';
import { askEveryMs, mostUnanswered, pulse, type Pulse } from './pulse.js';
import { isOurs, type Facts, type FromWorker, type ToWorker } from './messages.js';

/** Waits before another worker takes the place of one that ended, in milliseconds: more each time that one ends soon again. */
const waits = [100, 30_000] as const;
/** A worker that has served for so long, in milliseconds, was well. */
const wellMs = 60_000;
/** How long a worker may take to give back what it has, beside the times of the settings, in milliseconds. */
const closingMs = 15_000;

export interface Workers {
  /** What they say of themselves once all listen. */
  readonly listening: Promise<Facts>;
  /** Resolves with an exit code if none could ever start; it has told why. */
  readonly failed: Promise<number>;
  /** Stops all of them. Answers whether all ended in order. */
  stop(): Promise<boolean>;
}

const send = (worker: Worker, message: ToWorker): void => {
  // One that is ending has no channel any more.
  if (worker.isConnected()) worker.send(message, () => undefined);
};

const live = (): Worker[] => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);

/** Their metrics, with what only the process that started them knows. */
function metricsOf() {
  const registry = new Registry();
  const running = new Gauge({ name: 'headgate_workers', help: 'Processes that answer.', registers: [registry] });
  const restarts = new Counter({
    name: 'headgate_worker_restarts_total',
    help: 'Processes that took the place of one that had ended by itself.',
    registers: [registry],
  });
  const all = gathering({
    workers: () => live().map(({ id }) => id),
    ask(id, asked) {
      const worker = cluster.workers?.[id];
      if (worker !== undefined) send(worker, { headgate: 'count', id: asked });
    },
  });
  return {
    ...all,
    restarted: () => restarts.inc(),
    async gather() {
      const parts = await all.gather();
      running.set(live().length);
      return [...parts, await registry.getMetricsAsJSON()];
    },
  };
}

/** Ids of decisions of one worker are taken back by the others. */
function secretFor({ secret }: Config, logger: Logger): Record<string, string> {
  if (secret !== undefined) return {};
  logger.warn('HEADGATE_SECRET is not set: ids of decisions hold only on this server, until it ends');
  return { HEADGATE_SECRET: randomBytes(32).toString('base64url') };
}

/**
 * Starts the workers: the first alone, so that a fault of the settings is told once, then the others. One that ends by itself, or hangs, is replaced.
 *
 * @throws SettingError, Error if the socket's path cannot be used
 */
export async function startWorkers(config: Config): Promise<Workers> {
  const { workers: wanted, socket, drainMs, stopWithinMs } = config;
  const logger = createLogger(config.logLevel);
  const metrics = metricsOf();
  if (socket !== undefined) await clearSocketPath(socket);
  // Workers take connections themselves. Handed over by this process, those that are on their way to a worker that is killed would hang for ever.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  const env = secretFor(config, logger);
  const timers = new Set<NodeJS.Timeout>();
  let stopping = false;
  let everListened = false;
  let fail: (code: number) => void = () => undefined;
  const failed = new Promise<number>((resolve) => (fail = resolve));

  /** Asks a worker that serves whether it is there. One that hangs would take connections and never answer: it is killed, and replaced as any that ends. */
  function watch(worker: Worker): Pulse {
    const watched = pulse({
      ask: () => send(worker, { headgate: 'there?' }),
      onSilent() {
        const ms = askEveryMs * mostUnanswered;
        logger.error({ event: 'worker', worker: worker.process.pid }, `a worker has not answered for ${ms} ms and is killed`);
        worker.process.kill('SIGKILL');
      },
    });
    worker.once('exit', watched.stop);
    return watched;
  }

  function hear(worker: Worker, onListening: (facts: Facts) => void): void {
    let heart: Pulse | undefined;
    worker.on('message', (message: unknown) => {
      if (!isOurs(message)) return;
      const said = message as FromWorker;
      if (said.headgate === 'listening') {
        heart = watch(worker);
        onListening(said);
      } else if (said.headgate === 'here') heart?.answered();
      else if (said.headgate === 'counted') metrics.counted(worker.id, said.id, said.metrics);
      else void metrics.gather().then((parts) => send(worker, { headgate: 'gathered', id: said.id, parts }));
    });
  }

  function after(ms: number, start: () => void): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      start();
    }, ms);
    timers.add(timer);
  }

  /** One place, with one worker after the other. Resolves when the first of them listens. */
  function keepOne(): Promise<Facts> {
    const wait = backoff(systemTiming, waits);
    return new Promise((resolve) => {
      function start(): void {
        const worker = cluster.fork(env);
        let since = Number.POSITIVE_INFINITY;
        hear(worker, (facts) => {
          since = performance.now();
          everListened = true;
          resolve(facts);
        });
        worker.once('exit', (code: number | null, signal: string | null) => {
          void metrics.ended(worker.id);
          if (stopping) return;
          if (!everListened) return fail(code ?? 1);
          if (performance.now() - since >= wellMs) wait.reset();
          const ms = Math.round(wait.next());
          logger.error({ event: 'worker', worker: worker.process.pid, code, signal }, `a worker has ended; another one starts in ${ms} ms`);
          after(ms, () => {
            metrics.restarted();
            start();
          });
        });
      }
      start();
    });
  }

  async function startAll(): Promise<Facts> {
    const facts = await keepOne();
    await Promise.all(Array.from({ length: stopping ? 0 : wanted - 1 }, keepOne));
    return facts;
  }

  async function ended(worker: Worker): Promise<boolean> {
    if (worker.isDead()) return true;
    const timer = setTimeout(() => worker.process.kill('SIGKILL'), drainMs + stopWithinMs + closingMs);
    const code = await new Promise<number | null>((resolve) => worker.once('exit', resolve));
    clearTimeout(timer);
    return code === 0;
  }

  return {
    listening: startAll(),
    failed,
    async stop() {
      stopping = true;
      for (const timer of timers) clearTimeout(timer);
      const all = live().map(ended);
      for (const worker of live()) send(worker, { headgate: 'stop' });
      return (await Promise.all(all)).every(Boolean);
    },
  };
}
