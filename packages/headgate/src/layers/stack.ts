import type { OnEvent } from '../events.js';
import type { Layered, LayersOptions } from '../layered.js';
import { sizeOf } from '../limit.js';
import type { MissedCalls } from '../limiter-types.js';
import type { Rule } from '../rule.js';
import { layoutOf } from '../stores/layout.js';
import { shardedStore } from '../stores/sharded.js';
import type { Store } from '../stores/store.js';
import { fleet } from './fleet.js';
import { guard, type GuardedStore, type GuardOptions } from './guard.js';
import { Leases } from './leases.js';
import { localStore } from './local.js';
import { notes, type NotedStore } from './notes.js';
import { Sync } from './sync.js';

/** Rules warned about, by name: what is remembered so that each is warned of once. */
const mostWarned = 10_000;

/** The size of a rule's smallest limit, looked for once: a rule may have 100,000 plans. */
function smallestOf(): (rule: Rule) => number {
  const known = new WeakMap<Rule, number>();
  return (rule) => {
    const found = known.get(rule);
    if (found !== undefined) return found;
    let smallest = Infinity;
    for (const limit of [rule.limit, ...rule.plans.values()]) {
      const size = sizeOf(limit);
      if (size > 0 && size < smallest) smallest = size;
    }
    known.set(rule, smallest);
    return smallest;
  };
}

/** Warns of rules whose limit is smaller than the fleet, of each once. */
function smallLimits(onEvent: OnEvent): (rules: ReadonlyMap<string, Rule>, fleetSize: number) => void {
  const warned = new Set<string>();
  const smallest = smallestOf();
  return (rules, fleetSize) => {
    const small = [...rules.values()].filter(
      (rule) => rule.whenUnavailable === 'local' && smallest(rule) < fleetSize && !warned.has(rule.name) && warned.size < mostWarned,
    );
    if (small.length === 0) return;
    for (const { name } of small) warned.add(name);
    const names = small.map(({ name }) => JSON.stringify(name));
    onEvent({
      type: 'limit-below-fleet',
      message:
        `limits smaller than the fleet of ${fleetSize}: ${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}; ` +
        "without the store each process still lets 1 unit pass; choose whenUnavailable: 'refuse' or 'allow' if that matters",
    });
  };
}

function missedBy(guards: readonly GuardedStore[]): MissedCalls {
  const sum = { late: 0, failed: 0, unasked: 0 };
  for (const { missed } of guards) for (const why of ['late', 'failed', 'unasked'] as const) sum[why] += missed[why];
  return sum;
}

/**
 * Puts the layers around a store: notes, then leases and sync, then for each shard a guard with its own breaker and heartbeat. A store that
 * is not in the process names it as its `layers`; `createLimiter` calls it.
 *
 * @example
 * ```ts
 * import { createLimiter, memoryStore, tokenBucket, type Store } from 'headgate';
 * import { layersOver } from 'headgate/layers';
 *
 * const { decide, giveBack, claim, extend, reset, ban, unban, ping, close } = memoryStore(); // or calls of a database
 * const store: Store = { layers: layersOver, decide, giveBack, claim, extend, reset, ban, unban, ping, close };
 * const limiter = createLimiter({ store, rules: { search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) } } });
 * ```
 */
export function layersOver({ store, deadlineMs, fleetSize, mostNotes, mostLocal, clock, onEvent, onLost }: LayersOptions): Layered {
  let rules: ReadonlyMap<string, Rule> = new Map();
  const warnOfSmallLimits = smallLimits(onEvent);
  const processes = fleet({ configured: fleetSize, clock, onEvent, onGrowth: (size) => warnOfSmallLimits(rules, size) });

  let noted: NotedStore | undefined;
  const hear: GuardOptions['hear'] = (group, answer, askedAt) => noted?.hear(group, answer, askedAt) ?? answer;

  const guarded = (inner: Store, name?: string) => {
    const about = name === undefined ? 'the store' : `shard ${name}`;
    const of = name === undefined ? {} : { shard: name };
    const texts = {
      unavailable: `${about} does not answer; decisions are made without it, by each rule's whenUnavailable`,
      available: `${about} is in use again`,
    };
    const onChange = (type: 'unavailable' | 'available'): void => onEvent({ type, ...of, message: texts[type] });
    processes.join({ name, store: inner, layout: layoutOf(name, store.shards) });
    return {
      name: name ?? 'store',
      store: guard({ store: inner, deadlineMs, fleetSize: processes.assumed, clock, onChange, hear, onLost }),
    };
  };

  const shards = store.shards?.map((shard) => ({ weight: shard.weight, ...guarded(shard.store, shard.name) }));
  const guards = shards ?? [guarded(store)];
  const exact = shards === undefined ? (guards[0]?.store ?? store) : shardedStore(shards);
  const leases = new Leases({ store: exact, clock, max: mostLocal, onLost });
  const sync = new Sync({ store: exact, clock, max: mostLocal, fleetSize: processes.size, onLost });
  const inner = localStore({ store: exact, clock, leases, sync });
  if (mostNotes > 0) noted = notes({ store: inner, max: mostNotes, clock, heard: true });
  const outer = noted ?? inner;

  return {
    store: {
      ...outer,
      async close() {
        await processes.leave();
        await outer.close();
      },
    },
    gauges: () => ({
      noted: noted?.notes().refused ?? 0,
      notes: noted?.notes().size ?? 0,
      notesDropped: noted?.notes().dropped ?? 0,
      decidedLocally: inner.decidedHere(),
      localKeys: leases.size + sync.size,
      localDropped: leases.dropped + sync.dropped,
      uncharged: guards.reduce((sum, { store: { lost } }) => sum + lost(), 0),
      owing: guards.reduce((sum, { store: { owing } }) => sum + owing(), 0),
      missed: missedBy(guards.map(({ store }) => store)),
      syncLagMs: sync.lagUs() / 1000,
      fleet: processes.size(),
      unavailable: guards.filter(({ store: { available } }) => !available()).map(({ name }) => name),
    }),
    onRules: (given) => {
      rules = given;
      warnOfSmallLimits(rules, processes.size());
    },
  };
}
