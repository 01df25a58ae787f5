import type { LimiterStats } from 'headgate';
import { Counter, Gauge, type Registry } from 'prom-client';

export interface Watched {
  readonly stats: () => LimiterStats;
  /** Shards that are asked, by name; `'store'` if there is only one; none if the counters are in this process. */
  readonly shards: readonly string[];
}

/** What the limiter counts itself, read when it is asked for. */
export function limiterMetrics(registry: Registry, { stats, shards }: Watched): void {
  const registers = [registry];
  const counter = (name: string, help: string, read: () => number): void => {
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  };
  /** Of several processes the sum, but of what each of them knows of all. */
  const gauge = ([name, help]: readonly [string, string], read: () => number, aggregator: 'sum' | 'max' = 'sum'): void => {
    new Gauge({
      name,
      help,
      aggregator,
      registers,
      collect() {
        this.set(read());
      },
    });
  };
  counter('headgate_noted_total', 'Checks and groups refused by a note, at no call to Redis.', () => stats().noted);
  counter('headgate_local_total', 'Checks decided by a lease or by sync, at no call to Redis.', () => stats().decidedLocally);
  counter('headgate_unreturned_total', 'Give-backs that Redis did not carry out: the units stay taken.', () => stats().unreturned);
  gauge(['headgate_notes', 'Notes kept: keys that are refused without asking Redis.'], () => stats().notes);
  gauge(['headgate_local_keys', 'Keys counted in this process: leased or synced.'], () => stats().localKeys);
  gauge(['headgate_budgets_owing', 'Budgets with units that passed without Redis and are not charged to it yet.'], () => stats().owing);
  gauge(['headgate_fleet_size', 'Processes that share the counters, as far as is known.'], () => stats().fleet, 'max');
  new Gauge({
    name: 'headgate_shard_available',
    help: 'Whether a shard is asked (1), or left alone for now as it did not answer (0).',
    labelNames: ['shard'] as const,
    aggregator: 'min',
    registers,
    collect() {
      const { unavailable } = stats();
      for (const shard of shards) this.set({ shard }, unavailable.includes(shard) ? 0 : 1);
    },
  });
}
