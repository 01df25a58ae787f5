import { AggregatorRegistry } from 'prom-client';
import type { MetricsJson } from '../observe/metrics.js';

/** Workers that are asked for their metrics, by number. */
export interface Counting {
  readonly workers: () => readonly number[];
  /** Asks one; it answers by `counted`. */
  readonly ask: (worker: number, id: number) => void;
}

export interface Gathering {
  /** Metrics of all workers, and what those that have ended had counted. */
  gather(): Promise<readonly MetricsJson[]>;
  counted(worker: number, id: number, metrics: MetricsJson): void;
  ended(worker: number): Promise<void>;
}

/** How long a worker is waited for, in milliseconds; of one that is later its last answer counts. */
const patienceMs = 1000;

/** Workers that have ended whose counters are kept apart. */
const mostApart = 8;

const counters = (metrics: MetricsJson): MetricsJson => metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));

/** Adds up without a counter ever falling, which would look like a restart of all and be counted twice: not when a worker ends, nor when it is late. */
export function gathering({ workers, ask }: Counting): Gathering {
  const latest = new Map<number, MetricsJson>();
  /** The first is the sum of many. */
  const ofEnded: MetricsJson[] = [];
  let adding = false;
  let underWay: Promise<readonly MetricsJson[]> | undefined;
  let asked = 0;
  let missing = new Set<number>();
  let onAll: () => void = () => undefined;

  async function gatherNow(): Promise<readonly MetricsJson[]> {
    asked += 1;
    missing = new Set(workers());
    for (const worker of missing) ask(worker, asked);
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      onAll = resolve;
      timer = setTimeout(resolve, patienceMs);
      if (missing.size === 0) resolve();
    });
    clearTimeout(timer);
    return [...latest.values(), ...ofEnded];
  }

  function found(worker: number): void {
    missing.delete(worker);
    if (missing.size === 0) onAll();
  }

  async function addUp(): Promise<void> {
    if (adding || ofEnded.length <= mostApart) return;
    adding = true;
    const parts = [...ofEnded];
    const sum = await AggregatorRegistry.aggregate(parts).getMetricsAsJSON();
    ofEnded.splice(0, parts.length, sum);
    adding = false;
  }

  return {
    gather: () => (underWay ??= gatherNow().finally(() => (underWay = undefined))),
    counted(worker, id, metrics) {
      latest.set(worker, metrics);
      if (id === asked) found(worker);
    },
    async ended(worker) {
      const last = latest.get(worker);
      if (last !== undefined) ofEnded.push(counters(last));
      latest.delete(worker);
      found(worker);
      await addUp();
    },
  };
}
