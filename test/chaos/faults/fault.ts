import { rawCommand } from '../../support/redis.js';
import type { Fleet } from '../fleet.js';
import type { Connect } from '../recording.js';
import type { Busy } from '../watch.js';

/** What a fault did, and when: the wall clock, in milliseconds. */
export interface Strike {
  /** From here on it was undone: what the store decides later, it decides after the fault. Where others repair it, when it began. */
  readonly undone: number;
  /** When the driver itself saw the store serve again. Absent: it never stopped. */
  readonly serves?: number;
  /** Keys whose counters lie where it struck; absent: all. */
  readonly affected?: ReadonlySet<string>;
  /** All counters were forgotten then. */
  readonly forgot?: number;
  /** What the store counted in this time may have been forgotten, as no replica had it yet. */
  readonly lag?: { readonly from: number; readonly until: number };
  /** The store was well all the time, `but` for when even the driver was not answered at once; processes were stalled for so long each. */
  readonly well?: { readonly stalledMs: number; readonly but: readonly Busy[] };
}

/** Servers under load, and what is done to them. */
export interface Deployment {
  readonly connect: Connect;
  strike(fleet: Fleet, keys: readonly string[]): Promise<Strike>;
  stop(): Promise<unknown>;
}

export interface Fault {
  /** What `--only` takes. */
  readonly name: string;
  readonly title: string;
  start(): Promise<Deployment>;
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** How long what lasts "a while" lasts: longer than any deadline, backoff or window of the rules. */
export const whileMs = 2000;

/** Replication on one machine lags by far less; what was counted so long before a failover may have been lost with the master. */
export const lagMs = 100;

/** Writes as a limiter does: by a script, with a TTL. */
const write = "return redis.call('SET', KEYS[1], '1', 'PX', 100)";

/** Waits until the server on a port carries out a script that writes, and says when that was. `tag` decides the slot. */
export async function servesAgain(port: () => number | Promise<number>, tag = 'chaos'): Promise<number> {
  const until = Date.now() + 20_000;
  for (;;) {
    try {
      await rawCommand(await port(), ['EVAL', write, 1, `{${tag}}:serves`]);
      return Date.now();
    } catch (error) {
      if (Date.now() > until) throw new Error('the store did not serve again within 20 s', { cause: error });
      await pause(5);
    }
  }
}
