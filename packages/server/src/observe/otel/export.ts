import { randomUUID } from 'node:crypto';
import { ExportResultCode, type ExportResult } from '@opentelemetry/core';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor, ParentBasedSampler, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace-base';
import type { OtlpConfig } from '../../settings/otlp.js';
import type { Logger } from '../logger.js';
import type { Metrics } from '../metrics.js';
import type { Trace } from '../requests.js';
import { registryBridge } from './bridge.js';
import { tracing } from './tracing.js';

export interface ExportOptions {
  readonly otlp: OtlpConfig;
  readonly metrics: Metrics;
  readonly version: string;
  readonly logger: Logger;
}

export interface Exporting {
  readonly trace: Trace;
  /** Sends what is left, for as long as a server that stops can wait. */
  close(): Promise<void>;
}

/** Spans that wait: those beyond it are dropped, as a collector that is slow or away must not fill the memory. */
const mostSpans = 2048;
/** Exports of one signal on their way. */
const exportsAtOnce = 2;
const exportMs = 10_000;
const closingMs = 2000;

interface Exporter<T> {
  export(items: T, done: (result: ExportResult) => void): void;
}

/** Tells of each export, and of a collector that no longer takes them or does again once. */
function told<T, E extends Exporter<T>>(exporter: E, signal: 'metrics' | 'traces', { metrics, logger }: ExportOptions): E {
  let works: boolean | undefined;
  const send = exporter.export.bind(exporter);
  exporter.export = (items, done) =>
    send(items, (result) => {
      const ok = result.code === ExportResultCode.SUCCESS;
      metrics.exported(signal, ok);
      // Of an answer only what kind of fault it was: its body is somebody else's text.
      const { name, code } = (result.error ?? {}) as { name?: string; code?: unknown };
      if (!ok && works !== false) logger.warn({ event: 'otlp', signal, fault: name, code }, `the collector does not take ${signal}`);
      else if (ok && works === false) logger.info({ event: 'otlp', signal }, `the collector takes ${signal} again`);
      works = ok;
      done(result);
    });
  return exporter;
}

/** Waits no longer than it is worth. */
async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work.then(() => undefined).catch(() => undefined), late]);
  clearTimeout(timer);
}

/** Tells a collector of the metrics, once in an interval, and of the spans of sampled requests. Nothing waits for it. */
export function startExport(options: ExportOptions): Exporting {
  const { otlp, metrics, version } = options;
  const resource = resourceFromAttributes({
    'service.name': 'headgate',
    'service.version': version,
    'service.instance.id': randomUUID(),
  });
  const to = (path: string) => ({
    url: `${otlp.url}/v1/${path}`,
    headers: { ...otlp.headers },
    timeoutMillis: exportMs,
    concurrencyLimit: exportsAtOnce,
  });
  const scope = { name: 'headgate', version };
  const reader = new PeriodicExportingMetricReader({
    exporter: told(new OTLPMetricExporter(to('metrics')), 'metrics', options),
    exportIntervalMillis: otlp.intervalMs,
    exportTimeoutMillis: Math.min(exportMs, otlp.intervalMs),
    metricProducers: [registryBridge({ json: metrics.json, resource, scope })],
  });
  const meters = new MeterProvider({ resource, readers: [reader] });
  const spans = new BatchSpanProcessor(told(new OTLPTraceExporter(to('traces')), 'traces', options), {
    maxQueueSize: mostSpans,
    scheduledDelayMillis: Math.min(5000, otlp.intervalMs),
    exportTimeoutMillis: exportMs,
  });
  const tracers = new BasicTracerProvider({
    resource,
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(otlp.traceRatio) }),
    spanProcessors: [spans],
  });
  return {
    trace: tracing(tracers.getTracer('headgate', version)),
    close: () => atMost(closingMs, Promise.all([meters.shutdown(), tracers.shutdown()])),
  };
}
