import type { Decision } from 'headgate';
import type { RedisCall } from 'headgate/redis';
import { collectDefaultMetrics, Counter, Gauge, Registry, type MetricObjectWithValues, type MetricValue } from 'prom-client';
import { callMetrics } from './call-metrics.js';
import { decisionMetrics } from './decision-metrics.js';
import { limiterMetrics, type Watched } from './limiter-metrics.js';
import { rulesMetrics } from './rules-metrics.js';
import { requestMetrics, type RequestMetrics } from './request-metrics.js';
import type { SourceState } from '../rules/source-state.js';
import type { Traffic } from './traffic.js';
import { trafficMetrics } from './traffic-metrics.js';

export type MetricsJson = MetricObjectWithValues<MetricValue<string>>[];

export interface Metrics {
  readonly requests: RequestMetrics;
  decided(decisions: readonly Decision[]): void;
  called(call: RedisCall): void;
  rulesLoaded(rules: number): void;
  rulesRefused(): void;
  exceptionsLoaded(): void;
  /** A request that too many rules match. */
  crowded(): void;
  /** Adds metrics of what is made later. */
  add<T>(register: (registry: Registry) => T): T;
  exported(signal: 'metrics' | 'traces', ok: boolean): void;
  /** As it stands; what follows brings it up to date. */
  readonly registry: Registry;
  /** As data: for others than Prometheus. */
  json(): Promise<MetricsJson>;
  text(): Promise<{ contentType: string; text: string }>;
}

export interface MetricsOptions extends Watched {
  /** Of this Headgate. */
  readonly version: string;
  readonly rules?: () => SourceState;
}

/**
 * Prometheus metrics in a registry of their own, with those of the traffic if it is watched. Labels have only values that configuration or
 * the program bounds (outcomes, sources, shards, patterns of routes) or, as rules come and go, a number.
 */
export function createMetrics({ version, rules: rulesState, ...watched }: MetricsOptions, traffic?: Traffic): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'headgate_build_info',
    help: 'Always 1, with the version.',
    labelNames: ['version'] as const,
    aggregator: 'first',
    registers,
  }).set({ version }, 1);
  const reloads = new Counter({
    name: 'headgate_rules_reload_total',
    help: 'Rules read, by result: ok, or refused (the rules in force stay).',
    labelNames: ['result'] as const,
    registers,
  });
  const exceptions = new Counter({
    name: 'headgate_exceptions_reload_total',
    help: 'Changes of plans, overrides, exemptions or switches that were read.',
    registers,
  });
  const crowded = new Counter({
    name: 'headgate_too_many_rules_total',
    help: 'Requests to the gate that were refused as more rules match them than are decided together: mend the rules.',
    registers,
  });
  const rules = new Gauge({ name: 'headgate_rules', help: 'Rules in force.', aggregator: 'max', registers });
  for (const result of ['ok', 'refused'] as const) reloads.inc({ result }, 0);
  const exports = new Counter({
    name: 'headgate_otlp_exports_total',
    help: 'Exports through OpenTelemetry, by signal (metrics, traces) and result (ok, error).',
    labelNames: ['signal', 'result'] as const,
    registers,
  });
  for (const signal of ['metrics', 'traces'] as const) for (const result of ['ok', 'error'] as const) exports.inc({ signal, result }, 0);
  if (rulesState !== undefined) rulesMetrics(registry, rulesState);
  const readLimiter = limiterMetrics(registry, watched);
  const countTraffic = traffic && trafficMetrics(registry, traffic);

  async function refresh(): Promise<void> {
    await countTraffic?.();
    readLimiter();
  }

  return {
    requests: requestMetrics(registry),
    decided: decisionMetrics(registry),
    called: callMetrics(registry),
    rulesLoaded(count) {
      reloads.inc({ result: 'ok' });
      rules.set(count);
    },
    rulesRefused: () => reloads.inc({ result: 'refused' }),
    exceptionsLoaded: () => exceptions.inc(),
    crowded: () => crowded.inc(),
    add: (register) => register(registry),
    exported: (signal, ok) => exports.inc({ signal, result: ok ? 'ok' : 'error' }),
    registry,
    async json() {
      await refresh();
      return registry.getMetricsAsJSON();
    },
    async text() {
      await refresh();
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}
