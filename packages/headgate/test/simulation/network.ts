import { quantumUs, type Schedule } from './schedule.js';
import type { Random } from './random.js';

/** For a time, some processes and some shards do not hear each other. */
interface Cut {
  readonly fromUs: number;
  readonly untilUs: number;
  readonly concerns: (process: number, shard: number) => boolean;
  readonly there: boolean;
  readonly back: boolean;
}

/** When a message arrives and its answer is back; undefined if that never happens. */
export interface Trip {
  readonly arrivesAt: number | undefined;
  readonly returnsAt: number | undefined;
  /** False if the client knew that there was no connection. */
  readonly sent: boolean;
}

/** So long after a connection has gone dead, a client knows. */
const noticedAfterUs = 300_000;

export interface NetworkOptions {
  readonly schedule: Schedule;
  readonly random: Random;
  readonly cuts: number;
  readonly forUs: number;
  readonly shards: number;
  /** Whether what one process sends to one shard arrives in the order in which it was sent, as over one connection. */
  readonly inOrder: boolean;
}

/** What lies between processes and shards: delays, and connections that are cut for a time, in one direction or both. */
export class Network {
  readonly #options: NetworkOptions;
  readonly #cuts: readonly Cut[];

  constructor(options: NetworkOptions) {
    this.#options = options;
    const { random, cuts, forUs, shards } = options;
    this.#cuts = Array.from({ length: cuts }, () => {
      const fromUs = random.between(0, forUs);
      // A whole shard away, or a part of the processes cut off from some shards.
      const [parts, part, shard] = [random.between(1, 4), random.between(0, 3), random.between(0, shards - 1)];
      const alsoOthers = random.chance(0.3);
      const way = random.between(0, 2);
      return {
        fromUs,
        untilUs: fromUs + random.between(20_000, 1_500_000),
        concerns: (process: number, of: number) => (of === shard || alsoOthers) && process % parts === part % parts,
        there: way !== 1,
        back: way !== 0,
      };
    });
  }

  /** The way between one process and one shard. */
  between(process: number, shard: number): () => Trip {
    const { schedule, inOrder } = this.#options;
    // Most processes have nothing to say to most shards.
    let cuts: readonly Cut[] | undefined;
    let lastArrives = 0;
    let lastReturns = 0;
    return () => {
      const now = schedule.nowUs;
      const relevant = (cuts ??= this.#cuts.filter(({ concerns }) => concerns(process, shard)));
      const isCut = (way: 'there' | 'back', at: number): Cut | undefined =>
        relevant.find((cut) => cut[way] && cut.fromUs <= at && at < cut.untilUs);
      const cut = isCut('there', now);
      if (cut !== undefined) return { arrivesAt: undefined, returnsAt: undefined, sent: now - cut.fromUs < noticedAfterUs };
      const arrivesAt = Math.max(now + this.#delay(), inOrder ? lastArrives : 0);
      lastArrives = arrivesAt;
      if (isCut('there', arrivesAt)) return { arrivesAt: undefined, returnsAt: undefined, sent: true };
      const returnsAt = Math.max(arrivesAt + this.#delay(), inOrder ? lastReturns : 0);
      lastReturns = returnsAt;
      return { arrivesAt, returnsAt: isCut('back', returnsAt) ? undefined : returnsAt, sent: true };
    };
  }

  #delay(): number {
    const { random } = this.#options;
    const slow = random.next();
    if (slow < 0.02) return random.between(5000, 40_000);
    return quantumUs * random.between(1, slow < 0.2 ? 5 : 2);
  }
}
