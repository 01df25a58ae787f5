import type { MetricsJson } from '../observe/metrics.js';

/** What a worker tells the process that started it. */
export type FromWorker =
  | ({ readonly headgate: 'listening' } & Facts)
  | { readonly headgate: 'here' }
  /** Somebody asked this worker for the metrics of all. */
  | { readonly headgate: 'gather'; readonly id: number }
  | { readonly headgate: 'counted'; readonly id: number; readonly metrics: MetricsJson };

export type ToWorker =
  | { readonly headgate: 'stop' }
  /** Answered by `here` at once, by a worker whose event loop turns. */
  | { readonly headgate: 'there?' }
  | { readonly headgate: 'count'; readonly id: number }
  | { readonly headgate: 'gathered'; readonly id: number; readonly parts: readonly MetricsJson[] };

/** What is to be told of a service that runs; the same of every worker. */
export interface Facts {
  readonly url: string;
  readonly opsUrl: string | undefined;
  readonly firstRule: string;
}

/** Other libraries send messages over the same channel. */
export const isOurs = (message: unknown): message is { readonly headgate: string } =>
  typeof message === 'object' && message !== null && 'headgate' in message;
