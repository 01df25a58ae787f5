import type { Clock } from '../clock.js';
import type { OnEvent } from '../events.js';
import type { Store } from '../stores/store.js';

/** A process says this often that it is there, and counts for `memberUs` after the last time. */
const beatMs = 1000;
const memberUs = 3_500_000;
/** Beats in a row that must show a smaller fleet: after an outage the first to beat is alone for a moment. */
const beatsToShrink = 4;

const goodbyeMs = 200;

export interface FleetOptions {
  /** The size to assume until the store has told it. */
  readonly configured: number | undefined;
  readonly clock: Clock;
  readonly onEvent: OnEvent;
  /** Called when the size is first known, and when it grows. */
  readonly onGrowth: (size: number) => void;
}

/** The processes that share the store now, counted by heartbeats on every shard, and remembered while the store is away. */
export interface Fleet {
  size(): number;
  /** The size, for a decision without the store: warns once if it is not known. */
  assumed(): number;
  /** Begins to beat on a shard. `layout` tells how keys are spread: processes that disagree count apart. */
  join(shard: Shard): void;
  /** Ends all beating, and says goodbye, so that the others' shares grow at once. */
  leave(): Promise<void>;
}

interface Shard {
  readonly name: string | undefined;
  readonly store: Store;
  readonly layout: string;
}

/** Makes a fleet of one; each shard that is joined is asked how many there are. */
export function fleet({ configured, clock, onEvent, onGrowth }: FleetOptions): Fleet {
  const member = crypto.randomUUID();
  const sizes = new Map<string | undefined, { size: number; smaller: number }>();
  const shards: Shard[] = [];
  const cancels = new Map<Shard, () => void>();
  let left = false;
  let warnedOfSize = false;
  let warnedOfLayout = false;

  /** The largest that any shard has told; 0 if none has. */
  let known = 0;

  const size = (): number => known || (configured ?? 1);

  function learn({ name }: Shard, members: number): void {
    const before = known;
    const seen = sizes.get(name);
    if (seen === undefined || members >= seen.size) sizes.set(name, { size: members, smaller: 0 });
    else if (++seen.smaller >= beatsToShrink) sizes.set(name, { size: members, smaller: 0 });
    known = Math.max(...[...sizes.values()].map((told) => told.size));
    if (known > before) onGrowth(known);
  }

  async function beat(shard: Shard): Promise<void> {
    const { store, name, layout } = shard;
    try {
      const counted = await store.beat?.({ member, layout, forUs: memberUs });
      if (counted === undefined || left) return;
      learn(shard, counted.members);
      if (counted.strangers > 0 && !warnedOfLayout) {
        warnedOfLayout = true;
        onEvent({
          type: 'shards-differ',
          ...(name !== undefined && { shard: name }),
          message:
            `${counted.strangers} of ${counted.members} processes spread keys over other shards, names or weights than this one: ` +
            'a key is counted in two places, and its limit does not hold; give every process the same shards',
        });
      }
    } catch {
      // Remembered as it was; the next beat is never far.
    }
    if (!left)
      cancels.set(
        shard,
        clock.after(beatMs * (0.9 + Math.random() / 5), () => void beat(shard), { unref: true }),
      );
  }

  return {
    size,
    assumed() {
      if (known === 0 && configured === undefined && shards.length > 0 && !warnedOfSize) {
        warnedOfSize = true;
        onEvent({
          type: 'fleet-unknown',
          message:
            'the store is away, and how many processes share it is not known: this one decides as if it were alone; ' +
            'set fleetSize to the usual number of processes',
        });
      }
      return size();
    },
    join(shard) {
      if (shard.store.beat === undefined) return;
      shards.push(shard);
      void beat(shard);
    },
    async leave() {
      left = true;
      for (const cancel of cancels.values()) cancel();
      const goodbyes = shards.map(async ({ store, layout }) => store.beat?.({ member, layout, forUs: 0 }));
      // A store that is away must not hold up the end of a process.
      await new Promise<void>((resolve) => {
        const cancel = clock.after(goodbyeMs, resolve);
        void Promise.allSettled(goodbyes).then(() => {
          cancel();
          resolve();
        });
      });
    },
  };
}
