import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { later } from './service.js';

/* eslint-disable @typescript-eslint/no-explicit-any -- OTLP as JSON, looked into by the tests */

export interface Export {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: any;
}

type Mood = 'takes' | 'refuses' | 'holds';

const valueOf = (value: any): unknown =>
  value.arrayValue === undefined ? Object.values(value)[0] : (value.arrayValue.values ?? []).map(valueOf);

/** Attributes as an object. */
export const attributesOf = (attributes: readonly any[] = []): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));

/** A collector that speaks OTLP over HTTP as JSON, and keeps what it got. */
export async function collector() {
  const got: Export[] = [];
  let mood: Mood = 'takes';
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      const sent = Buffer.concat(parts);
      const text = (headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent).toString('utf8');
      got.push({ path, headers, body: JSON.parse(text) });
      if (mood === 'holds') return;
      response.writeHead(mood === 'takes' ? 200 : 400, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  later(stop);
  const of = (path: string): any[] => got.filter((one) => one.path === path).map(({ body }) => body);
  return {
    url: `http://127.0.0.1:${port}`,
    got,
    stop,
    is(next: Mood): void {
      mood = next;
    },
    spans: (): any[] =>
      of('/v1/traces').flatMap(({ resourceSpans }) => resourceSpans.flatMap((one: any) => one.scopeSpans.flatMap((two: any) => two.spans))),
    /** The last state of a metric, by its OpenTelemetry name. */
    metric(name: string): any {
      const all = of('/v1/metrics').flatMap(({ resourceMetrics }) =>
        resourceMetrics.flatMap((one: any) => one.scopeMetrics.flatMap((two: any) => two.metrics)),
      );
      return all.filter((one) => one.name === name).at(-1);
    },
    resource: (): Record<string, unknown> => attributesOf(of('/v1/metrics')[0]?.resourceMetrics[0].resource.attributes),
  };
}
