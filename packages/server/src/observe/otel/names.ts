/** What a Prometheus metric is called in OpenTelemetry; units are said beside the name there, not in it. */
export interface OtelName {
  readonly name: string;
  readonly unit: string;
  /** Attributes that Prometheus has in the name. */
  readonly attributes?: Readonly<Record<string, string>>;
}

/** Metrics of the process and of Node for which the semantic conventions have a name. */
const conventional: Readonly<Record<string, OtelName>> = {
  process_cpu_user_seconds_total: { name: 'process.cpu.time', unit: 's', attributes: { 'cpu.mode': 'user' } },
  process_cpu_system_seconds_total: { name: 'process.cpu.time', unit: 's', attributes: { 'cpu.mode': 'system' } },
  process_resident_memory_bytes: { name: 'process.memory.usage', unit: 'By' },
  process_virtual_memory_bytes: { name: 'process.memory.virtual', unit: 'By' },
  process_open_fds: { name: 'process.unix.file_descriptor.count', unit: '{file_descriptor}' },
  nodejs_gc_duration_seconds: { name: 'v8js.gc.duration', unit: 's' },
  nodejs_heap_space_size_used_bytes: { name: 'v8js.memory.heap.used', unit: 'By' },
  nodejs_heap_space_size_available_bytes: { name: 'v8js.memory.heap.space.available_size', unit: 'By' },
  ...Object.fromEntries(
    ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map((part) => [
      `nodejs_eventloop_lag_${part}_seconds`,
      { name: `nodejs.eventloop.delay.${part}`, unit: 's' },
    ]),
  ),
};

/** Sums of others that are there. */
const superfluous = new Set([
  'process_cpu_seconds_total',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]);

const units: Readonly<Record<string, string>> = { seconds: 's', bytes: 'By', ratio: '1' };

/** Undefined for what OpenTelemetry has by other metrics. */
export function otelNameOf(metric: string): OtelName | undefined {
  if (superfluous.has(metric)) return undefined;
  const known = conventional[metric];
  if (known !== undefined) return known;
  const words = metric.replace(/_total$/, '').split('_');
  const unit = units[words.at(-1) ?? ''];
  if (unit !== undefined) words.pop();
  const [namespace = '', ...rest] = words;
  const isTime = rest.at(-1) === 'duration';
  const name = isTime ? `${rest.slice(0, -1).join('_')}.duration` : rest.join('_');
  return { name: `${namespace}.${name}`, unit: unit ?? '' };
}

const attributes: Readonly<Record<string, string>> = {
  route: 'http.route',
  kind: 'v8js.gc.type',
  space: 'v8js.heap.space.name',
};

/** What a label is called as an attribute: by the conventions, else in the namespace of its metric. */
export const attributeOf = (label: string, { name }: OtelName): string => attributes[label] ?? `${name.split('.', 1)[0] ?? ''}.${label}`;
