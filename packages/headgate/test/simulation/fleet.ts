import { Leases } from '../../src/layers/leases.js';
import { localStore, type LocalStore } from '../../src/layers/local.js';
import { Sync } from '../../src/layers/sync.js';
import { groupOf } from '../../src/stores/outcome.js';
import { shardedStore } from '../../src/stores/sharded.js';
import type { Check, Group, GroupOutcome, Meeting, Store } from '../../src/stores/store.js';
import type { History } from './history.js';
import type { KeySpec } from './keys.js';
import type { Network } from './network.js';
import type { Random } from './random.js';
import { clockOf, type Schedule } from './schedule.js';
import { Link, type Sabotage, type Shard } from './shard.js';

export interface World {
  readonly schedule: Schedule;
  readonly random: Random;
  readonly network: Network;
  readonly shards: readonly Shard[];
  readonly history: History;
  readonly shardOf: (key: string) => Shard;
  /** Processes that are up. */
  readonly fleetSize: () => number;
  readonly sabotage: Sabotage | undefined;
}

const shardNames = (shards: readonly Shard[]): string[] => shards.map((_, i) => `s${i}`);

/** One life of a process: from its start to its crash or its leave. */
export class Process {
  /** Hears answers and is called by its timers. */
  isUp = true;
  isLeaving = false;
  readonly #world: World;
  readonly #life: number;
  readonly #store: LocalStore;
  /** By key: in how many members it believes. */
  readonly #believed = new Map<string, number>();

  constructor(world: World, index: number, life: number) {
    this.#world = world;
    this.#life = life;
    const { schedule, random, network, shards, fleetSize, sabotage } = world;
    const isUp = (): boolean => this.isUp;
    const clock = clockOf(schedule, random.between(-5_000_000, 5_000_000), isUp);
    const links = shardNames(shards).map((name, i) => {
      const shard = shards[i] as Shard;
      return { name, weight: 1, store: new Link({ schedule, shard, travel: network.between(index, i), isUp, sabotage }) };
    });
    const sharded = shardedStore(links);
    const store: Store = { ...sharded, meet: (meeting) => this.#meet(sharded, meeting) };
    const common = { store, clock, max: 1000, onLost: () => undefined };
    const sync = new Sync({ ...common, fleetSize, member: `p${life}` });
    this.#store = localStore({ store, clock, leases: new Leases(common), sync });
  }

  check(spec: KeySpec, cost: number): void {
    const group: Group = { checks: [checkOf(spec, cost), ...(spec.with ? [checkOf(spec.with, 1)] : [])] };
    const calledAt = this.#world.schedule.nowUs;
    this.#world.history.checks += 1;
    const [check] = group.checks;
    const here = group.checks.length === 1 && check && this.#store.checkNow?.(check, false);
    if (here) this.#record(group, groupOf(here, check), calledAt);
    else void this.#store.decide(group).then((answer) => this.#record(group, answer, calledAt));
  }

  leave(): void {
    this.isLeaving = true;
    void this.#store.close();
  }

  async #meet(sharded: Store, meeting: Meeting): Promise<readonly number[]> {
    const members = await sharded.meet?.(meeting).catch(() => undefined);
    meeting.keys.forEach(({ key }, index) => {
      this.#believed.set(key, members?.[index] ?? this.#believed.get(key) ?? this.#world.fleetSize());
    });
    if (members === undefined) throw new Error('nobody was met');
    return members;
  }

  #record({ checks }: Group, { allowed, outcomes, source }: GroupOutcome, calledAt: number): void {
    const { history, shardOf, schedule } = this.#world;
    if (!allowed) {
      history.refused += 1;
      return;
    }
    checks.forEach(({ key, cost }, index) => {
      const outcome = outcomes[index];
      const shardNow = shardOf(key).clock.nowUs();
      // What the store takes for this call it takes later than it was called.
      const isLeased = outcome?.takenAt !== undefined && outcome.takenAt <= shardNow - (schedule.nowUs - calledAt);
      const isHere = isLeased || source === 'sync';
      // In a group, what is taken here is taken before the store is asked for the rest.
      const agoUs = isLeased && checks.length > 1 ? schedule.nowUs - calledAt : 0;
      history.keys.get(key)?.admitted.push({
        at: shardNow - agoUs,
        units: cost,
        life: this.#life,
        members: source === 'sync' ? this.#believed.get(key) : undefined,
        windowEnd: isHere ? undefined : outcome?.windowEnd,
      });
    });
  }
}

function checkOf({ name, limit, mode }: KeySpec, cost: number): Check {
  return { rule: 'rule', key: name, limit, cost, whenUnavailable: 'local', ...(mode && { mode }) };
}
