import { channel } from 'node:diagnostics_channel';
import { context, metrics, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fixedWindow } from '../src/index.js';
import { instrument, type Instrumentation, type InstrumentOptions } from '../src/otel/index.js';
import { withClock } from './support/limiters.js';
import { partner } from './support/partner.js';

const spans = new InMemorySpanExporter();
const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }).getTracer('test');
const begun: (Instrumentation | { stop(): unknown })[] = [];

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterAll(() => {
  context.disable();
  metrics.disable();
});
afterEach(async () => {
  for (const one of begun.splice(0)) await one.stop();
  spans.reset();
});

/** The SDK, with what it has been told by name. */
function sdk() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  begun.push({ stop: () => provider.shutdown() });
  return {
    provider,
    async read() {
      await reader.forceFlush();
      const all =
        exporter
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
      const points = all.map(({ descriptor, dataPoints }) => [descriptor.name, { unit: descriptor.unit, points: dataPoints }] as const);
      return new Map(points);
    },
  };
}

async function begin(options?: InstrumentOptions): Promise<Instrumentation> {
  const instrumentation = await instrument(options);
  begun.push(instrumentation);
  return instrumentation;
}

const limit = fixedWindow({ limit: 2, window: '1d' });
const rules = { api: { limit }, shadow: { limit: fixedWindow({ limit: 0, window: '1d' }), shadow: true } };

/** The attributes of a span in which something was done. */
async function attributesOf(work: () => Promise<unknown>): Promise<unknown> {
  await tracer.startActiveSpan('request', async (span) => {
    await work();
    span.end();
  });
  return spans.getFinishedSpans().at(-1)?.attributes;
}

describe('instrument', () => {
  it('counts decisions and units, by rule, outcome, reason and source', async () => {
    const { provider, read } = sdk();
    expect((await begin({ meter: provider.getMeter('test') })).active).toBe(true);
    const { limiter } = withClock(rules);
    for (let i = 0; i < 3; i += 1) await limiter.check('api', 'ada');
    await limiter.check('shadow', 'ada');
    await limiter.checkAll([
      { rule: 'api', key: 'bob' },
      { rule: 'api', key: 'ada' },
    ]);
    const told = await read();
    const decisions = told.get('headgate.decisions');
    expect(decisions?.unit).toBe('{decision}');
    const common = { 'headgate.rule': 'api', 'headgate.source': 'store', 'headgate.degraded': false };
    expect(decisions?.points.map(({ attributes, value }) => ({ attributes, value }))).toEqual([
      { value: 2, attributes: { ...common, 'headgate.outcome': 'allowed', 'headgate.reason': 'ok' } },
      { value: 2, attributes: { ...common, 'headgate.outcome': 'refused', 'headgate.reason': 'limited' } },
      {
        value: 1,
        attributes: { ...common, 'headgate.rule': 'shadow', 'headgate.outcome': 'would-refuse', 'headgate.reason': 'cost-above-limit' },
      },
      { value: 1, attributes: { ...common, 'headgate.outcome': 'undone', 'headgate.reason': 'ok' } },
    ]);
    expect(told.get('headgate.units')?.points).toMatchObject([{ value: 2, attributes: { 'headgate.rule': 'api' } }]);
    expect(JSON.stringify([...told])).not.toMatch(/ada|bob/);
  });

  it("tells limiters' stats by name", async () => {
    const { provider, read } = sdk();
    const { limiter } = withClock(rules);
    await begin({ meter: provider.getMeter('test'), limiters: { main: limiter } });
    const told = await read();
    for (const name of ['notes.refused', 'notes.size', 'local.keys', 'owing', 'units.uncharged', 'units.unreturned', 'shards.unavailable'])
      expect(told.get(`headgate.${name}`)?.points, name).toMatchObject([{ value: 0, attributes: { 'headgate.limiter': 'main' } }]);
    expect(told.get('headgate.fleet.size')?.points).toMatchObject([{ value: 1 }]);
  });

  it('measures calls to partners', async () => {
    const { provider, read } = sdk();
    await begin({ meter: provider.getMeter('test') });
    const { url } = await partner({ status: 503, headers: { 'retry-after': '5' } });
    await withClock(rules).limiter.fetch('api', 'ada', { retries: 0 })(url);
    const told = await read();
    const attributes = { 'headgate.rule': 'api' };
    expect(told.get('headgate.fetch.wait.duration')).toMatchObject({ unit: 's', points: [{ attributes, value: { count: 1 } }] });
    expect(told.get('headgate.fetch.duration')?.points).toMatchObject([
      { attributes: { ...attributes, 'http.response.status_code': 503 } },
    ]);
    expect(told.get('headgate.fetch.holds')?.points).toMatchObject([{ attributes, value: 1 }]);
  });

  it('uses the global meter provider if no meter is given, and ends when told', async () => {
    const { provider, read } = sdk();
    metrics.setGlobalMeterProvider(provider);
    const { limiter } = withClock(rules);
    const instrumentation = await begin({ limiters: { main: limiter } });
    await limiter.check('api', 'ada');
    instrumentation.stop();
    instrumentation.stop();
    for (const name of ['decision', 'event', 'fetch']) expect(channel(`headgate:${name}`).hasSubscribers, name).toBe(false);
    await limiter.check('api', 'ada');
    const told = await read();
    expect(told.get('headgate.decisions')?.points).toMatchObject([{ value: 1 }]);
    expect(told.get('headgate.fleet.size')?.points ?? []).toEqual([]);
  });

  it('gives the active span attributes: of the last decision, but a refusal stays', async () => {
    await begin();
    const { limiter } = withClock(rules);
    const told = { 'headgate.rule': 'api', 'headgate.source': 'store', 'headgate.degraded': false };
    const once = await attributesOf(() => limiter.check('api', 'ada'));
    expect(once).toEqual({ ...told, 'headgate.outcome': 'allowed', 'headgate.reason': 'ok' });
    const refused = await attributesOf(async () => {
      await limiter.check('api', 'ada', { cost: 2 });
      await limiter.check('api', 'bob');
    });
    expect(refused).toEqual({ ...told, 'headgate.outcome': 'refused', 'headgate.reason': 'limited' });
    expect(trace.getActiveSpan()).toBeUndefined();
    await limiter.check('api', 'ada');
  });

  it('of spans only if asked to', async () => {
    await begin({ spans: false });
    const { limiter } = withClock(rules);
    expect(await attributesOf(() => limiter.check('api', 'ada'))).toEqual({});
  });

  it('refuses wrong options', async () => {
    const wrong = (options: unknown) => instrument(options as InstrumentOptions);
    await expect(wrong({ metre: 1 })).rejects.toThrow('instrument: unknown option "metre"');
    await expect(wrong({ meter: {} })).rejects.toThrow('instrument.meter: expected a meter of @opentelemetry/api; got an object');
    await expect(wrong({ limiters: { main: 1 } })).rejects.toThrow('instrument.limiters.main: expected a limiter; got 1');
    await expect(wrong({ spans: 'yes' })).rejects.toThrow('instrument.spans: expected true or false; got "yes"');
  });
});
