import { describe, expect, it } from 'vitest';
import { readConfig } from '../src/config.js';
import { attributesOf, collector } from './support/collector.js';
import { ask, rulesFile, start } from './support/service.js';

const rules = `
version: 1
rules:
  - { name: one, limit: { fixedWindow: { limit: 1, window: 1h } } }
  - { name: gated, match: { path: /api/:id }, key: ["*"], limit: { fixedWindow: { limit: 100, window: 1h } } }
`;
const soon = { timeout: 15_000, interval: 50 };
const traceId = '0af7651916cd43dd8448eb211c80319c';
const parent = 'b7ad6b7169203331';

const exporting = (url: string, ...flags: string[]) => start({ rules, flags: ['--otlp', url, '--otlp-interval', '1s', ...flags] });
const check = (url: string, headers: Record<string, string> = {}) =>
  ask(`${url}/v1/check`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{"rule":"one","key":"planted-key"}',
  });

describe('metrics by OpenTelemetry', () => {
  it('are those of Prometheus, by the names and units of OpenTelemetry', async () => {
    const { url, metric, resource } = await collector();
    const service = await exporting(url);
    for (let i = 0; i < 3; i += 1) await check(service.url);
    await expect.poll(() => metric('headgate.decisions')?.sum.dataPoints.length, soon).toBe(2);
    const { unit, sum } = metric('headgate.decisions');
    expect([unit, sum.isMonotonic, sum.aggregationTemporality]).toEqual(['', true, 2]);
    const points = sum.dataPoints.map((point: { attributes: never[]; asDouble: number }) => [
      attributesOf(point.attributes),
      point.asDouble,
    ]);
    expect(points).toEqual([
      [{ 'headgate.rule': 'one', 'headgate.outcome': 'allowed', 'headgate.source': 'store' }, 1],
      [{ 'headgate.rule': 'one', 'headgate.outcome': 'refused', 'headgate.source': 'store' }, 2],
    ]);
    expect(Number(sum.dataPoints[0].timeUnixNano)).toBeGreaterThan(Number(sum.dataPoints[0].startTimeUnixNano));
    expect(resource()).toMatchObject({
      'service.name': 'headgate',
      'service.version': expect.stringMatching(/^\d+\.\d+\.\d+/),
      'service.instance.id': expect.stringMatching(/^[\da-f-]{36}$/),
    });
  });

  it('have histograms with counts of each bucket alone, and those of the process by the conventions', async () => {
    const { url, metric } = await collector();
    const service = await exporting(url);
    for (let i = 0; i < 4; i += 1) await check(service.url);
    await expect.poll(() => metric('headgate.decision.duration')?.histogram.dataPoints[0]?.count, soon).toBe(4);
    const { unit, histogram } = metric('headgate.decision.duration');
    const [{ bucketCounts, explicitBounds, sum, attributes }] = histogram.dataPoints;
    expect(unit).toBe('s');
    expect(attributesOf(attributes)).toEqual({ 'http.route': '/v1/check' });
    expect(bucketCounts).toHaveLength(explicitBounds.length + 1);
    expect(bucketCounts.reduce((all: number, one: number) => all + one, 0)).toBe(4);
    expect(sum).toBeGreaterThan(0);
    const cpu = metric('process.cpu.time').sum.dataPoints.map(({ attributes: of }: { attributes: never[] }) => attributesOf(of));
    expect(cpu).toEqual([{ 'cpu.mode': 'user' }, { 'cpu.mode': 'system' }]);
    expect(metric('process.memory.usage').unit).toBe('By');
    expect(metric('nodejs.eventloop.delay.p99').unit).toBe('s');
  });
});

describe('traces', () => {
  it('go on in the trace of a caller that samples it, and hold no key', async () => {
    const { url, spans } = await collector();
    const service = await exporting(url);
    await check(service.url, { traceparent: `00-${traceId}-${parent}-01`, tracestate: 'vendor=planted-state' });
    await expect.poll(() => spans().length, soon).toBe(2);
    const [inner, outer] = spans();
    expect(outer).toMatchObject({ name: 'POST /v1/check', traceId, parentSpanId: parent, kind: 2 });
    expect(attributesOf(outer.attributes)).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/check',
      'http.response.status_code': 200,
      'headgate.rules': ['one'],
      'headgate.outcome': 'allowed',
      'headgate.sources': ['store'],
      'headgate.degraded': false,
    });
    expect(inner).toMatchObject({ name: 'headgate.decide', traceId, parentSpanId: outer.spanId });
    const ns = ({ startTimeUnixNano: from, endTimeUnixNano: to }: Record<string, string>) => [BigInt(from ?? 0), BigInt(to ?? 0)] as const;
    expect(ns(inner)[0]).toBeGreaterThanOrEqual(ns(outer)[0]);
    expect(ns(inner)[1]).toBeLessThanOrEqual(ns(outer)[1]);
    expect(JSON.stringify(spans())).not.toContain('planted');
  });

  it('of a gateway tell the pattern of the route, and never the path', async () => {
    const { url, spans } = await collector();
    const service = await exporting(url);
    await service.get('/v1/gate/api/planted-path?token=planted', { headers: { traceparent: `00-${traceId}-${parent}-01` } });
    await expect.poll(() => spans().length, soon).toBe(2);
    expect(spans()[1]).toMatchObject({ name: 'GET /v1/gate/*' });
    expect(attributesOf(spans()[1].attributes)).toMatchObject({ 'headgate.rules': ['gated'], 'http.response.status_code': 204 });
    expect(JSON.stringify(spans())).not.toContain('planted');
  });

  it.each([
    ['whose caller does not sample', { traceparent: `00-${traceId}-${parent}-00` }, '1'],
    ['without a caller, at the default ratio of 0', {}, undefined],
    ['with a traceparent that is none, at a ratio of 0', { traceparent: `00-${'0'.repeat(32)}-${parent}-01` }, '0'],
  ])('of a request %s are not made', async (_, headers, ratio) => {
    const { url, spans, metric } = await collector();
    const service = await exporting(url, ...(ratio === undefined ? [] : ['--trace-ratio', ratio]));
    await check(service.url, headers);
    await expect.poll(() => metric('headgate.decisions')?.sum.dataPoints.length, soon).toBe(1);
    await service.app.close();
    expect(spans()).toEqual([]);
  });

  it('of requests without a caller are made by the ratio', async () => {
    const { url, spans } = await collector();
    const service = await exporting(url, '--trace-ratio', '1');
    await check(service.url);
    await service.get('/healthz');
    await expect.poll(() => spans().length, soon).toBe(2);
    expect(spans()[1].parentSpanId).toBeUndefined();
  });
});

describe('a collector', () => {
  const requests = async (url: string, count: number): Promise<number> => {
    const began = performance.now();
    for (let i = 0; i < count; i += 20) {
      const some = await Promise.all(Array.from({ length: 20 }, () => check(url, { traceparent: `00-${traceId}-${parent}-01` })));
      expect(some.map(({ status }) => status)).toEqual(Array(20).fill(200));
    }
    return (performance.now() - began) / count;
  };

  it('that holds every answer, or is stopped, delays nobody and fills no memory: spans beyond the queue are dropped', async () => {
    const held = await collector();
    held.is('holds');
    const service = await exporting(held.url);
    const healthy = await exporting((await collector()).url);
    const usual = await requests(healthy.url, 300);
    const slow = await requests(service.url, 1400);
    held.stop();
    const stopped = await requests(service.url, 300);
    // Of each other's order, on a machine that others use too.
    expect(Math.max(slow, stopped)).toBeLessThan(usual * 5);
    expect(held.spans().length).toBeLessThanOrEqual(2048 + 2 * 512);
    const began = performance.now();
    await service.app.close();
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  it('that refuses is told of once, and counted', async () => {
    const { url, is } = await collector();
    is('refuses');
    const service = await exporting(url);
    const failed = async () =>
      Number(/^headgate_otlp_exports_total\{signal="metrics",result="error"\} (\d+)$/m.exec((await service.get('/metrics')).text)?.[1]);
    await expect.poll(failed, soon).toBeGreaterThan(1);
    is('takes');
    await expect.poll(async () => (await service.get('/metrics')).text, soon).toContain('signal="metrics",result="ok"');
  });

  it('is told what it asks for in its header fields', async () => {
    const { url, got } = await collector();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/`, OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc,x-tenant=7' };
    await start({ rules, env, flags: ['--otlp-interval', '1s'] });
    await expect.poll(() => got.length, soon).toBeGreaterThan(0);
    expect(got[0]).toMatchObject({ path: '/v1/metrics', headers: { authorization: 'Bearer abc', 'x-tenant': '7' } });
  });
});

describe('settings of OpenTelemetry', () => {
  it('are absent by default, and ours go before those of the standard', () => {
    expect(readConfig([], {}).otlp).toBeUndefined();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://theirs:4318', HEADGATE_OTLP: 'http://ours:4318/' };
    expect(readConfig([], env).otlp).toEqual({ url: 'http://ours:4318', headers: {}, traceRatio: 0, intervalMs: 60_000 });
    expect(readConfig(['--trace-ratio', '0.25'], { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://theirs:4318' }).otlp).toMatchObject({
      url: 'http://theirs:4318',
      traceRatio: 0.25,
    });
  });

  it.each([
    [['--otlp', 'collector:4317'], {}, '--otlp: expected a URL such as http://localhost:4318'],
    [['--otlp', 'http://me:hunter2@h'], {}, '--otlp: expected no user and password'],
    [[], { OTEL_EXPORTER_OTLP_ENDPOINT: 'nowhere hunter2' }, 'OTEL_EXPORTER_OTLP_ENDPOINT: expected a URL'],
    [['--otlp', 'http://h'], { HEADGATE_OTLP_HEADERS: 'hunter2' }, 'HEADGATE_OTLP_HEADERS: expected name=value'],
    [['--otlp', 'http://h'], { HEADGATE_OTLP_HEADERS: 'a=%zz-hunter2' }, 'HEADGATE_OTLP_HEADERS: expected name=value'],
    [['--trace-ratio', '1.5'], {}, '--trace-ratio: expected a part from 0 to 1'],
  ])('that are wrong (%s %s) are told without their value', (flags, env, message) => {
    const fault = (): unknown => {
      try {
        return readConfig([...flags, '--rules', rulesFile(rules)], env as Record<string, string>);
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(fault()).toContain(message);
    expect(fault()).not.toContain('hunter2');
  });
});
