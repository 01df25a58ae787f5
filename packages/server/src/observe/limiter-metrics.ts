import type { LimiterStats } from 'headgate';
import { Gauge, type Registry } from 'prom-client';
import { readMetrics } from './read-metrics.js';

export interface Watched {
  readonly stats: () => LimiterStats;
  /** Shards that are asked, by name; `'store'` if there is only one; none if the counters are in this process. */
  readonly shards: readonly string[];
}

/** What the limiter counts itself, read when it is asked for. */
export function limiterMetrics(registry: Registry, { stats, shards }: Watched): void {
  const { counter, gauge } = readMetrics(registry);
  counter('headgate_noted_total', 'Checks and groups refused by a note, at no call to Redis.', () => stats().noted);
  counter('headgate_local_total', 'Checks decided by a lease or by sync, at no call to Redis.', () => stats().decidedLocally);
  counter('headgate_unreturned_total', 'Give-backs that Redis did not carry out: the units stay taken.', () => stats().unreturned);
  gauge('headgate_notes', 'Notes kept: keys that are refused without asking Redis.', () => stats().notes);
  gauge('headgate_local_keys', 'Keys counted in this process: leased or synced.', () => stats().localKeys);
  gauge('headgate_budgets_owing', 'Budgets with units that passed without Redis and are not charged to it yet.', () => stats().owing);
  gauge('headgate_fleet_size', 'Processes that share the counters, as far as is known.', () => stats().fleet);
  new Gauge({
    name: 'headgate_shard_available',
    help: 'Whether a shard is asked (1), or left alone for now as it did not answer (0).',
    labelNames: ['shard'] as const,
    registers: [registry],
    collect() {
      const { unavailable } = stats();
      for (const shard of shards) this.set({ shard }, unavailable.includes(shard) ? 0 : 1);
    },
  });
}
