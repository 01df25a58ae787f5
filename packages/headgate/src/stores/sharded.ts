import { StoreError } from '../errors.js';
import { askByPromise } from './attempt.js';
import { layoutOf } from './layout.js';
import { rendezvous, type Place } from './rendezvous.js';
import { decideSplit, meetSplit } from './split.js';
import type { Beat, Group, GroupOutcome, Meeting, Members, Receipt, Store, Target, Ticket } from './store.js';

/** One of several stores that share the keys among them. */
export interface Shard extends Place {
  readonly store: Store;
}

/** Resolves when all have; rejects with the first failure, once all have settled. */
async function all(calls: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(calls)).find((result) => result.status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

/**
 * Several stores as one: a key, with all its rules, always lives on the same. A group over several is decided on each in
 * parallel, and what was taken is given back if one refuses.
 */
export function shardedStore(shards: readonly Shard[]): Store {
  const placeOf = rendezvous(shards);
  const byName = new Map(shards.filter(({ weight }) => weight > 0).map(({ name, store }) => [name, store]));
  const storeOf = (key: string): Store => {
    const store = byName.get(placeOf(key));
    if (store === undefined) throw new StoreError('no shard has any weight');
    return store;
  };
  const of = ({ key }: Receipt | Target): Store => storeOf(key);
  const open = [...byName.values()];

  function decide(group: Group, ticket?: Ticket): Promise<GroupOutcome> {
    const [first] = group.checks;
    if (first !== undefined && group.checks.length === 1) return storeOf(first.key).decide(group, ticket);
    return decideSplit(group, {
      placeOf: ({ key }) => placeOf(key),
      decide: (part) => storeOf(part.checks[0]?.key ?? '').decide(part, ticket),
      giveBack: (item) => of(item.receipt).giveBack(item),
    });
  }

  return {
    shards,
    decide,
    ask(group, call) {
      const [first] = group.checks;
      const alone = first !== undefined && group.checks.length === 1 ? byName.get(placeOf(first.key)) : undefined;
      if (alone?.ask !== undefined) alone.ask(group, call);
      else askByPromise(decide, group, call);
    },
    ...(open.every(({ beat }) => beat !== undefined) && {
      // For who knows nothing of shards; a guard before each shard asks it by itself.
      async beat({ member, forUs }: Beat): Promise<Members> {
        const alone: Members = { members: 1, strangers: 0 };
        const told = await Promise.all(
          [...byName].map(async ([name, store]) => (await store.beat?.({ member, layout: layoutOf(name, shards), forUs })) ?? alone),
        );
        return told.reduce((a, b) => (b.members > a.members ? b : a), alone);
      },
    }),
    ...(open.every(({ meet }) => meet !== undefined) && {
      meet: (meeting: Meeting) =>
        meetSplit(meeting, { placeOf, meet: (part) => storeOf(part.keys[0]?.key ?? '').meet?.(part) ?? Promise.resolve([]) }),
    }),
    giveBack: (item) => of(item.receipt).giveBack(item),
    claim: (receipt, onceId) => of(receipt).claim(receipt, onceId),
    extend: (receipt) => of(receipt).extend(receipt),
    reset: (target) => of(target).reset(target),
    ban: (target, us) => of(target).ban(target, us),
    unban: (target) => of(target).unban(target),
    ping: () => all(open.map((store) => store.ping())),
    close: () => all(shards.map(({ store }) => store.close())),
  };
}
