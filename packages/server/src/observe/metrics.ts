import type { Decision } from 'headgate';
import { collectDefaultMetrics, Counter, Gauge, Registry, type MetricObjectWithValues, type MetricValue } from 'prom-client';
import { limiterMetrics, type Watched } from './limiter-metrics.js';
import { ruleLabels } from './rule-labels.js';
import { rulesMetrics } from './rules-metrics.js';
import type { SourceState } from '../rules/source-state.js';
import type { Traffic } from './traffic.js';
import { trafficMetrics } from './traffic-metrics.js';

export interface Metrics {
  decided(decisions: readonly Decision[]): void;
  rulesLoaded(rules: number): void;
  rulesRefused(): void;
  /** Adds metrics of what is made later. */
  exceptionsLoaded(): void;
  /** A request that too many rules match. */
  crowded(): void;
  add<T>(register: (registry: Registry) => T): T;
  text(): Promise<{ contentType: string; text: string }>;
  /** The same as data, to be added up with those of other processes. */
  json(): Promise<MetricsJson>;
}

export type MetricsJson = MetricObjectWithValues<MetricValue<string>>[];

/** Values of the label `rule`; further rules share one. With three outcomes and five sources, no more than 15 series each. */
const mostRules = 1000;

/**
 * Prometheus metrics in a registry of their own, with those of the traffic if it is watched. Labels have only values that configuration
 * bounds (outcomes, sources, shards) or, as rules come and go, a number here.
 */
export function createMetrics(watched: Watched & { readonly rules?: () => SourceState }, traffic?: Traffic): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  limiterMetrics(registry, watched);
  if (watched.rules !== undefined) rulesMetrics(registry, watched.rules);
  const countTraffic = traffic && trafficMetrics(registry, traffic);
  const labelOf = ruleLabels(mostRules);
  const decisions = new Counter({
    name: 'headgate_decisions_total',
    help: 'Decisions by rule, outcome (allowed, refused, shadow_refused) and source.',
    labelNames: ['rule', 'outcome', 'source'] as const,
    registers,
  });
  const degraded = new Counter({ name: 'headgate_degraded_total', help: 'Decisions made without the shared store.', registers });
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
  return {
    decided(made) {
      for (const { rule, allowed, wouldAllow, source, degraded: alone } of made) {
        decisions.inc({ rule: labelOf(rule), outcome: wouldAllow ? 'allowed' : allowed ? 'shadow_refused' : 'refused', source });
        if (alone) degraded.inc();
      }
    },
    rulesLoaded(count) {
      reloads.inc({ result: 'ok' });
      rules.set(count);
    },
    rulesRefused: () => reloads.inc({ result: 'refused' }),
    add: (register) => register(registry),
    exceptionsLoaded: () => exceptions.inc(),
    crowded: () => crowded.inc(),
    async text() {
      await countTraffic?.();
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
    async json() {
      await countTraffic?.();
      return registry.getMetricsAsJSON();
    },
  };
}
