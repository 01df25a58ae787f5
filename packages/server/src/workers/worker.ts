import cluster from 'node:cluster';
import { AggregatorRegistry } from 'prom-client';
import { startApp } from '../app.js';
import type { Config } from '../config.js';
import type { Metrics, MetricsJson } from '../observe/metrics.js';
import { isOurs, type FromWorker, type ToWorker } from './messages.js';

/** How long the others' metrics are waited for, in milliseconds: longer than who gathers them waits for one. */
const gatheringMs = 3000;

const tell = (message: FromWorker): void => void process.send?.(message);

interface Joined {
  /** Resolves when this worker is to end. */
  readonly toStop: Promise<void>;
  metricsOfAll(own: Metrics): Metrics['text'];
}

/** Listens to the process that started this one. */
function join(): Joined {
  let own: Metrics | undefined;
  let asked = 0;
  const waiting = new Map<number, (parts: readonly MetricsJson[]) => void>();
  let stop: () => void = () => undefined;
  const toStop = new Promise<void>((resolve) => (stop = resolve));

  process.on('message', (message: unknown) => {
    if (!isOurs(message)) return;
    const said = message as ToWorker;
    if (said.headgate === 'stop') stop();
    else if (said.headgate === 'there?') tell({ headgate: 'here' });
    else if (said.headgate === 'gathered') waiting.get(said.id)?.(said.parts);
    else void own?.json().then((metrics) => tell({ headgate: 'counted', id: said.id, metrics }));
  });
  // A terminal sends it to all processes at once; the one that started this one tells when to stop.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', stop);

  async function gathered(): Promise<readonly MetricsJson[]> {
    const id = (asked += 1);
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        waiting.set(id, resolve);
        timer = setTimeout(() => reject(new Error('the metrics of all workers cannot be had now')), gatheringMs);
        tell({ headgate: 'gather', id });
      });
    } finally {
      clearTimeout(timer);
      waiting.delete(id);
    }
  }

  return {
    toStop,
    metricsOfAll(metrics) {
      own = metrics;
      return async () => {
        const all = AggregatorRegistry.aggregate([...(await gathered())]);
        return { contentType: all.contentType, text: await all.metrics() };
      };
    },
  };
}

/** Serves as one of several processes, until it is told to stop. */
export async function serveAsWorker(config: Config): Promise<void> {
  const { toStop, metricsOfAll } = join();
  try {
    const app = await startApp(config, { colleagues: { metricsOfAll } });
    const { url, opsUrl, firstRule } = app;
    tell({ headgate: 'listening', url, opsUrl, firstRule });
    await toStop;
    await app.close();
  } finally {
    // The channel would keep the process alive.
    cluster.worker?.disconnect();
  }
}
