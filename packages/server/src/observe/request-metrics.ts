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

/** Requests over HTTP. Routes are patterns, so they are as many as the program has. */
export function requestMetrics(registry: Registry): RequestMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'headgate_http_requests_total',
    help: 'Requests answered or given up, by route (a pattern) and status (2xx, 3xx, 4xx, 5xx).',
    labelNames: ['route', 'status'] as const,
    registers,
  });
  const inFlight = new Gauge({ name: 'headgate_http_requests_in_flight', help: 'Requests that are not answered yet.', registers });
  const decisions = new Histogram({
    name: 'headgate_decision_duration_seconds',
    help: 'Time in which a request was decided, all its rules together, by route (a pattern).',
    labelNames: ['route'] as const,
    buckets,
    registers,
  });
  return {
    began: () => inFlight.inc(),
    ended(route = noRoute, status) {
      inFlight.dec();
      requests.inc({ route, status: `${Math.floor(status / 100)}xx` });
    },
    decided: (route = noRoute, ms) => decisions.observe({ route }, ms / 1000),
  };
}
