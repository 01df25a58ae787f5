import { ValueType, type HrTime } from '@opentelemetry/api';
import { hrTime, timeInputToHrTime, type InstrumentationScope } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  type CollectionResult,
  type DataPoint,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { MetricsJson } from '../metrics.js';
import { attributeOf, otelNameOf, type OtelName } from './names.js';

type Told = MetricObjectWithValues<MetricValue<string> & { readonly metricName?: string }>;
interface Times {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

const attributesOf = (labels: MetricValue<string>['labels'], named: OtelName): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(labels).flatMap(([label, value]) => (value === undefined ? [] : [[attributeOf(label, named), String(value)]])),
  ),
  ...named.attributes,
});

function numbers({ values }: Told, times: Times, named: OtelName): DataPoint<number>[] {
  return values.map(({ labels, value }) => ({ ...times, attributes: attributesOf(labels, named), value }));
}

interface Filling {
  readonly labels: Record<string, string>;
  readonly bounds: number[];
  readonly cumulative: number[];
  sum: number;
  count: number;
}

/** Prometheus tells a histogram as one value for each bucket, of all that is below its bound. */
function histograms({ name, values }: Told, times: Times, named: OtelName): DataPoint<Histogram>[] {
  const fillings = new Map<string, Filling>();
  for (const { labels: all, value, metricName = '' } of values) {
    const { le, ...labels } = all as Record<string, string | number>;
    const id = JSON.stringify(labels);
    const filling = fillings.get(id) ?? { labels: labels as Record<string, string>, bounds: [], cumulative: [], sum: 0, count: 0 };
    fillings.set(id, filling);
    if (metricName === `${name}_sum`) filling.sum = value;
    else if (metricName === `${name}_count`) filling.count = value;
    else {
      filling.cumulative.push(value);
      if (le !== '+Inf') filling.bounds.push(Number(le));
    }
  }
  return [...fillings.values()].map(({ labels, bounds, cumulative, sum, count }) => ({
    ...times,
    attributes: attributesOf(labels, named),
    value: { buckets: { boundaries: bounds, counts: cumulative.map((upTo, at) => upTo - (cumulative[at - 1] ?? 0)) }, sum, count },
  }));
}

function metricOf(told: Told, times: Times): MetricData | undefined {
  const named = otelNameOf(told.name);
  if (named === undefined || told.values.length === 0) return undefined;
  const descriptor = { name: named.name, description: told.help, unit: named.unit, valueType: ValueType.DOUBLE };
  const common = { descriptor, aggregationTemporality: AggregationTemporality.CUMULATIVE };
  // Of the types of prom-client as they are at run time: words.
  switch (told.type as unknown) {
    case 'histogram':
      return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(told, times, named) };
    case 'counter':
      return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: numbers(told, times, named) };
    case 'gauge':
      return { ...common, dataPointType: DataPointType.GAUGE, dataPoints: numbers(told, times, named) };
    default:
      return undefined;
  }
}

/** Those that have one name in OpenTelemetry are one metric there. */
function merged(metrics: readonly MetricData[]): MetricData[] {
  const byName = new Map<string, MetricData>();
  for (const metric of metrics) {
    const known = byName.get(metric.descriptor.name);
    if (known === undefined) byName.set(metric.descriptor.name, metric);
    else (known.dataPoints as unknown[]).push(...metric.dataPoints);
  }
  return [...byName.values()];
}

export interface BridgeOptions {
  readonly json: () => Promise<MetricsJson>;
  readonly resource: Resource;
  readonly scope: InstrumentationScope;
}

/** The metrics of the registry as OpenTelemetry has them: counted once, told twice. */
export function registryBridge({ json, resource, scope }: BridgeOptions): MetricProducer {
  const startTime = hrTime(0);
  return {
    async collect(): Promise<CollectionResult> {
      const times = { startTime, endTime: timeInputToHrTime(new Date()) };
      const metrics = merged((await json()).flatMap((told: Told) => metricOf(told, times) ?? []));
      return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors: [] };
    },
  };
}
