import { join } from 'node:path';
import { createLimiter } from 'headgate';
import { expect, it } from 'vitest';
import { createMetrics } from '../src/observe/metrics.js';
import { checkpointMetrics, webhookMetrics } from '../src/observe/quota-metrics.js';
import { tlsMetrics } from '../src/observe/tls-metrics.js';
import { attributeOf, otelNameOf } from '../src/observe/otel/names.js';
import { createTraffic } from '../src/observe/traffic.js';

interface Described {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
}

/** `headgate.decisions` with its attributes, where they are called otherwise than labels. */
function otelOf({ name, labelNames }: Described): string {
  const otel = otelNameOf(name);
  if (otel === undefined) return '';
  const unit = otel.unit === '' ? '' : ` (${otel.unit})`;
  const attributes = labelNames.map((label) => `\`${attributeOf(label, otel)}\``).join(', ');
  return `\`${otel.name}\`${unit}${attributes === '' ? '' : `: ${attributes}`}`;
}

const row = (metric: Described): string =>
  `| \`${metric.name}\` | ${metric.type}${metric.labelNames.length === 0 ? '' : `: ${metric.labelNames.map((label) => `\`${label}\``).join(', ')}`} | ${metric.help} | ${otelOf(metric)} |`;

/** Names and help are what is looked at, never a value. */
const unread = (): never => {
  throw new Error('a value was read');
};

it('docs/metrics.md tells the metrics that there are (npx vitest run packages/server/test/metrics-doc.test.ts -u writes it)', async () => {
  const { stats } = createLimiter({ rules: {} });
  const rules = () => ({ version: 1, from: 'database', ageMs: 0, reachable: true }) as const;
  const watched = { stats, shards: [], mostNotes: 0, version: '0.0.0', rules };
  const { registry, add } = createMetrics(watched, createTraffic({ secret: 'of a test' }));
  add(tlsMetrics);
  add((own) => checkpointMetrics(own, unread));
  add((own) => webhookMetrics(own, unread));
  const all = (registry.getMetricsAsArray() as unknown as Described[]).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const own = all.filter(({ name }) => name.startsWith('headgate_'));
  const others = all.filter((metric) => !own.includes(metric));
  const table = (rows: readonly Described[]): string =>
    ['| Prometheus | kind: labels | | OpenTelemetry |', '|---|---|---|---|', ...rows.map(row)].join('\n');
  const text = `# Metrics

Made from the metrics themselves. \`GET /metrics\` shows them to Prometheus; with \`--otlp\` the same go to an OpenTelemetry collector, under the names on
the right. \`deploy/grafana\` has a dashboard of them and \`deploy/prometheus\` alerts; [what to do then](runbook.md).

The number of series is bounded, whatever clients send. Labels have only values of the program or its settings: \`route\` is a pattern, and
\`(none)\` for all paths that are none of ours; the first 1,000 rules that are asked have a series of their own, and all others share \`rule="…others"\`. No key,
address or name of a client is in any of them.

${table(own)}

Of the process and of Node:

${table(others)}
`;
  await expect(text).toMatchFileSnapshot(join(import.meta.dirname, '../../../docs/metrics.md'));
});
