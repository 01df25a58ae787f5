import type { Decision } from 'headgate';
import { outcomeOf } from './decision-metrics.js';
import type { RequestMetrics } from './request-metrics.js';
import type { TraceContext } from './trace-context.js';

/** What is known of a request when it comes. `route` is its pattern; undefined if it met none. */
export interface Arrival {
  readonly route: string | undefined;
  readonly method: string;
  readonly parent: TraceContext | undefined;
  /** Writes its id into each line. */
  readonly log: { debug(about: object, text: string): void };
}

/** Decisions of one request, all its rules together. Times are of `performance.now()`. */
export interface Deciding {
  readonly decisions: readonly Decision[];
  readonly began: number;
  readonly ended: number;
}

/** One request on its way. */
export interface Watching {
  decided(deciding: Deciding): void;
  /** Once, when it was answered or its client has gone. */
  ended(status: number): void;
}

/** A request's part of a trace; undefined if it has none. */
export type Trace = (arrival: Arrival) => Watching | undefined;

/** What a request's rules said, in words that name no key. */
export function summaryOf(decisions: readonly Decision[]): {
  rules: string[];
  outcome: 'allowed' | 'refused' | 'shadow_refused';
  sources: string[];
  degraded: boolean;
} {
  const outcomes = decisions.map(outcomeOf);
  return {
    rules: decisions.map(({ rule }) => rule),
    outcome: outcomes.find((one) => one === 'refused') ?? outcomes.find((one) => one === 'shadow_refused') ?? 'allowed',
    sources: [...new Set(decisions.map(({ source }) => source))],
    degraded: decisions.some(({ degraded }) => degraded),
  };
}

const ms = (from: number, to: number): number => Math.round((to - from) * 1000) / 1000;

/** A line for each request, which only those want who look for something. */
function logged({ route, method, log }: Arrival): Watching {
  const began = performance.now();
  let told = {};
  return {
    decided: ({ decisions, began: from, ended: to }) => {
      told = { ...summaryOf(decisions), decidedMs: ms(from, to) };
    },
    ended: (status) => log.debug({ event: 'request', route, method, status, ms: ms(began, performance.now()), ...told }, 'answered'),
  };
}

export interface WatchOptions {
  readonly metrics: RequestMetrics;
  /** Whether each request is a line of the log, at level debug. */
  readonly lines: boolean;
  readonly trace: Trace | undefined;
}

/** Most requests are only counted: without a closure for each verb, and without a list. */
class Counted implements Watching {
  readonly #metrics: RequestMetrics;
  readonly #route: string | undefined;

  constructor(metrics: RequestMetrics, route: string | undefined) {
    this.#metrics = metrics;
    this.#route = route;
    metrics.began();
  }

  decided({ began, ended }: Deciding): void {
    this.#metrics.decided(this.#route, ended - began);
  }

  ended(status: number): void {
    this.#metrics.ended(this.#route, status);
  }
}

const all = (watching: readonly Watching[]): Watching => ({
  decided: (deciding) => watching.forEach((one) => one.decided(deciding)),
  ended: (status) => watching.forEach((one) => one.ended(status)),
});

/** Watches requests: for metrics, for the log, for traces where they are configured. */
export function watchRequests({ metrics, lines, trace }: WatchOptions): (arrival: Arrival) => Watching {
  return (arrival) => {
    const counted = new Counted(metrics, arrival.route);
    const traced = trace?.(arrival);
    if (!lines && traced === undefined) return counted;
    return all([counted, lines ? logged(arrival) : undefined, traced].filter((one) => one !== undefined));
  };
}
