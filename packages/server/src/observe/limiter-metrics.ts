import type { LimiterStats } from 'headgate';
import { Counter, Gauge, type Registry } from 'prom-client';

export interface Watched {
  readonly stats: () => LimiterStats;
  /** Shards that are asked, by name; `'store'` if there is only one; none if the counters are in this process. */
  readonly shards: readonly string[];
  /** Notes that may be kept at once. */
  readonly mostNotes: number;
}

type Read = (stats: LimiterStats) => number;

const counters: Readonly<Record<string, readonly [help: string, read: Read]>> = {
  headgate_noted_total: ['Checks and groups refused by a note, at no call to Redis.', ({ noted }) => noted],
  headgate_notes_dropped_total: [
    'Notes that gave way to newer ones while in force, as there were too many.',
    ({ notesDropped }) => notesDropped,
  ],
  headgate_local_total: ['Checks decided by a lease or by sync, at no call to Redis.', ({ decidedLocally }) => decidedLocally],
  headgate_local_dropped_total: [
    'Checks of rules that count locally that Redis decided, as too many keys were counted here.',
    ({ localDropped }) => localDropped,
  ],
  headgate_unreturned_total: ['Give-backs that Redis did not carry out: the units stay taken.', ({ unreturned }) => unreturned],
  headgate_uncharged_units_total: [
    'Units that passed without Redis and will not be charged to it, as too many budgets owed at once.',
    ({ uncharged }) => uncharged,
  ],
};

/** Of several processes of one server the sum, but the most of what each of them knows of all. */
const gauges: Readonly<Record<string, readonly [help: string, read: Read, of?: 'max']>> = {
  headgate_notes: ['Notes kept: keys that are refused without asking Redis.', ({ notes }) => notes],
  headgate_local_keys: ['Keys counted in this process: leased or synced.', ({ localKeys }) => localKeys],
  headgate_sync_lag_seconds: [
    'Age of the oldest units counted by sync that Redis was not told of yet.',
    ({ syncLagMs }) => syncLagMs / 1000,
    'max',
  ],
  headgate_budgets_owing: ['Budgets with units that passed without Redis and are not charged to it yet.', ({ owing }) => owing],
  headgate_fleet_size: ['Processes that share the counters, as far as is known.', ({ fleet }) => fleet, 'max'],
};

const whys = ['late', 'failed', 'unasked'] as const;

/** What the limiter counts itself; taken over by the function returned, before the registry is read. */
export function limiterMetrics(registry: Registry, { stats, shards, mostNotes }: Watched): () => void {
  const registers = [registry];
  const counted = Object.entries(counters).map(([name, [help, read]]) => ({ metric: new Counter({ name, help, registers }), read }));
  const standing = Object.entries(gauges).map(([name, [help, read, aggregator]]) => ({
    metric: new Gauge({ name, help, aggregator: aggregator ?? 'sum', registers }),
    read,
  }));
  new Gauge({ name: 'headgate_notes_limit', help: 'Notes that may be kept at once.', registers }).set(mostNotes);
  const missed = new Counter({
    name: 'headgate_store_missed_total',
    help: 'Calls that Redis did not answer, by why: late (beyond the deadline), failed, or unasked, as it was away.',
    labelNames: ['why'] as const,
    registers,
  });
  const available = new Gauge({
    name: 'headgate_shard_available',
    help: 'Whether a shard is asked (1), or left alone for now as it did not answer (0).',
    labelNames: ['shard'] as const,
    aggregator: 'min',
    registers,
  });

  return () => {
    const now = stats();
    for (const { metric, read } of counted) {
      metric.reset();
      metric.inc(read(now));
    }
    for (const { metric, read } of standing) metric.set(read(now));
    missed.reset();
    for (const why of whys) missed.inc({ why }, now.missed[why]);
    for (const shard of shards) available.set({ shard }, now.unavailable.includes(shard) ? 0 : 1);
  };
}
