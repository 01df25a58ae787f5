import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { buckets } from './call-metrics.js';

export interface RequestMetrics {
  began(): void;
  /** `route`: its pattern, never the path itself. */
  ended(route: string | undefined, status: number): void;
  decided(route: string | undefined, ms: number): void;
}

/** Stands for the route of a request that met none. */
const noRoute = '(none)';

/** Classes of statuses, from 1xx on. */
const classes = 5;

/**
 * Requests over HTTP. Routes are patterns, so they are as many as the program has. Counted in numbers of our own, as decisions are; the registry
 * takes them over when it is read.
 */
export function requestMetrics(registry: Registry): RequestMetrics {
  const registers = [registry];
  const byRoute = new Map<string, Float64Array>();
  let inFlight = 0;
  new Counter({
    name: 'headgate_http_requests_total',
    help: 'Requests answered or given up, by route (a pattern) and status (2xx, 3xx, 4xx, 5xx).',
    labelNames: ['route', 'status'] as const,
    registers,
    collect() {
      this.reset();
      for (const [route, counts] of byRoute)
        for (const [at, count] of counts.entries()) if (count > 0) this.inc({ route, status: `${at + 1}xx` }, count);
    },
  });
  new Gauge({
    name: 'headgate_http_requests_in_flight',
    help: 'Requests that are not answered yet.',
    registers,
    collect() {
      this.set(inFlight);
    },
  });
  const decisions = new Histogram({
    name: 'headgate_decision_duration_seconds',
    help: 'Time in which a request was decided, all its rules together, by route (a pattern).',
    labelNames: ['route'] as const,
    buckets,
    registers,
  });
  return {
    began() {
      inFlight += 1;
    },
    ended(route = noRoute, status) {
      inFlight -= 1;
      let counts = byRoute.get(route);
      if (counts === undefined) {
        counts = new Float64Array(classes);
        byRoute.set(route, counts);
      }
      const at = Math.floor(status / 100) - 1;
      counts[at] = (counts[at] ?? 0) + 1;
    },
    decided: (route = noRoute, ms) => decisions.observe({ route }, ms / 1000),
  };
}
