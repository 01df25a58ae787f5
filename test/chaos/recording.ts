import type { CountedSpec } from '../e2e/exactness/history.js';

/** How a worker's client finds Redis. */
export type Connect =
  | { readonly topology: 'single'; readonly port: number }
  | { readonly topology: 'sentinel'; readonly port: number; readonly name: string }
  | { readonly topology: 'cluster'; readonly ports: readonly number[] };

/** One check and its answer, as a worker saw it. */
export interface Answer {
  readonly rule: string;
  readonly key: string;
  /** When it was asked: the wall clock, in milliseconds. */
  readonly asked: number;
  /** Milliseconds until the answer. */
  readonly took: number;
  /** `decidedAt`: microseconds, by the store's clock, or the process's own if degraded. */
  readonly at: number;
  readonly resetAfterMs: number;
  readonly allowed: boolean;
  readonly source: string;
  readonly degraded: boolean;
  readonly reason: string;
  /** Of a holder: until when it surely held, in the time of `at`. */
  readonly until?: number;
}

/** A turn of a process's event loop that took long. */
export interface Turn {
  /** When it ended: the wall clock, in milliseconds. */
  readonly until: number;
  /** How much longer it took than it should have. */
  readonly lag: number;
}

/** What one worker process hands back. */
export interface Recording {
  readonly answers: readonly Answer[];
  readonly turns: readonly Turn[];
  /** Checks that were never answered. */
  readonly unanswered: number;
  /** The limiter's own count. */
  readonly stats: { readonly degraded: number; readonly checks: number };
  /** Exceptions and rejections, handled or not. */
  readonly errors: readonly string[];
  readonly table: Readonly<Record<string, { readonly spec: CountedSpec; readonly whenUnavailable?: 'allow' | 'refuse' }>>;
}
