import { setImmediate } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import type { Traffic } from './traffic.js';
import { shareOfTop } from './verdict.js';

const windows = ['1m', '1h'] as const;

/**
 * Who is refused, as gauges that are counted anew by the function returned, before the registry is read. Rules that were not checked for an
 * hour have no series; those without a place share one.
 */
export function trafficMetrics(registry: Registry, traffic: Traffic): () => Promise<void> {
  const registers = [registry];
  const byWindow = ['rule', 'window'] as const;
  const seen = new Gauge({ name: 'headgate_keys_seen', help: 'Different keys checked, about.', labelNames: byWindow, registers });
  const refused = new Gauge({ name: 'headgate_keys_refused', help: 'Different keys refused, about.', labelNames: byWindow, registers });
  const top = new Gauge({
    name: 'headgate_refused_share_of_top',
    help: "Part of the last minute's refusals that the ten keys refused most have.",
    labelNames: ['rule'] as const,
    aggregator: 'average',
    registers,
  });

  async function count(): Promise<void> {
    const counted = [];
    for (const rule of traffic.rules()) {
      // Decisions have milliseconds; a thousand rules take longer.
      await setImmediate();
      for (const window of windows) counted.push({ rule, window, found: traffic.count(rule, window) });
    }
    // At once, so that nobody reads the half of it.
    for (const gauge of [seen, refused, top]) gauge.reset();
    for (const { rule, window, found } of counted) {
      if (found === undefined) continue;
      seen.set({ rule, window }, found.distinctSeen);
      refused.set({ rule, window }, found.distinctRefused);
      if (window === '1m') top.set({ rule }, shareOfTop(found));
    }
  }

  let underWay: Promise<void> | undefined;
  return () => (underWay ??= count().finally(() => (underWay = undefined)));
}
