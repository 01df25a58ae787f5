import { durationOr, last, partOr, setting, type Given, type ValuesOf } from './setting.js';

/** Where OpenTelemetry is told of metrics and traces, by OTLP over HTTP. */
export interface OtlpConfig {
  /** Without the signal's path: `http://collector:4318`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The part of requests traced whose caller says nothing of it. */
  readonly traceRatio: number;
  readonly intervalMs: number;
}

function readUrl(all: Given, faults: string[]): string | undefined {
  const text = last(all);
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    faults.push(`${all.where}: expected a URL such as http://localhost:4318 (the value is not shown)`);
  else if (url.username !== '' || url.password !== '')
    faults.push(`${all.where}: expected no user and password in the URL; give them by HEADGATE_OTLP_HEADERS (the value is not shown)`);
  return text.replace(/\/+$/, '');
}

/** Pairs as the standard variable has them: `name=value,name=value`, values percent-encoded. */
function readHeaders(given: Given, faults: string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const pair of last(given)?.split(',') ?? []) {
    const [, name, value] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=(.*)$/.exec(pair) ?? [];
    try {
      if (name === undefined || value === undefined) throw new URIError();
      headers[name] = decodeURIComponent(value.trim());
    } catch {
      faults.push(`${given.where}: expected name=value pairs with commas between, values percent-encoded (the value is not shown)`);
      return {};
    }
  }
  return headers;
}

export const otlpSettings = {
  otlp: setting({
    name: 'otlp',
    placeholder: 'URL',
    help: 'an OpenTelemetry collector, OTLP over HTTP, such as http://localhost:4318: gets metrics, and traces of sampled requests',
    standard: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    show: (text) => (URL.canParse(text) ? new URL(text).origin : '(not shown)'),
    read: readUrl,
  }),
  otlpHeaders: setting({
    name: 'otlp-headers',
    help: 'fields that the collector asks for: name=value,name=value',
    scope: 'secret',
    standard: 'OTEL_EXPORTER_OTLP_HEADERS',
    show: () => '(not shown)',
    read: readHeaders,
  }),
  otlpInterval: durationOr({
    name: 'otlp-interval',
    within: ['1s', '10m'],
    usual: '60s',
    help: 'how often the collector gets metrics',
  }),
  traceRatio: partOr({
    name: 'trace-ratio',
    usual: 0,
    help: 'part of requests traced whose caller sends no traceparent; who sends one decides himself',
  }),
};

/** Undefined if nobody is to be told. */
export function otlpOf({
  otlp: url,
  otlpHeaders: headers,
  otlpInterval: intervalMs,
  traceRatio,
}: ValuesOf<typeof otlpSettings>): OtlpConfig | undefined {
  return url === undefined ? undefined : { url, headers, traceRatio, intervalMs };
}
