import type { Clock } from '../clock.js';
import { StoreError } from '../errors.js';
import { memoryStore } from '../stores/memory.js';
import type { Group, GroupOutcome, Store, Ticket } from '../stores/store.js';
import { Deadlines } from './deadlines.js';
import { fallback } from './fallback.js';

export interface GuardOptions {
  readonly store: Store;
  /** By when every decision is answered, in milliseconds. */
  readonly deadlineMs: number;
  /** Processes that share the store: this one's share of a limit is one part of so many. */
  readonly fleetSize: number;
  readonly clock: Clock;
}

/** A store of somebody's own may throw where it should reject. */
function attempt<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call();
  } catch (cause) {
    return Promise.reject(new StoreError('the store threw', { cause }));
  }
}

/** By when a verb that is no decision is given up, in milliseconds. */
const verbDeadlineMs = 1000;

/**
 * Puts a deadline before a store: a decision that is late or fails is made without it, by the rule's `whenUnavailable`.
 * What was taken from the fallback is given back to the fallback.
 */
export function guard({ store, deadlineMs, fleetSize, clock }: GuardOptions): Store {
  const local = memoryStore({ clock });
  const decideAlone = fallback({ local, clock, fleetSize });
  const decisions = new Deadlines(deadlineMs);
  const verbs = new Deadlines(verbDeadlineMs);

  function decide(group: Group): Promise<GroupOutcome> {
    return new Promise((resolve, reject) => {
      const ticket: Ticket = { cancelled: false, sent: false };
      const alone = (): void => {
        ticket.cancelled = true;
        decideAlone(group).then(resolve, reject);
      };
      const waiting = decisions.start(alone);
      attempt(() => store.decide(group, ticket)).then(
        (outcome) => {
          if (ticket.cancelled) return;
          decisions.stop(waiting);
          resolve(outcome);
        },
        () => {
          if (ticket.cancelled) return;
          decisions.stop(waiting);
          alone();
        },
      );
    });
  }

  function within<T>(what: string, call: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting = verbs.start(() => reject(new StoreError(`${what}: the store did not answer within ${verbDeadlineMs} ms`)));
      attempt(call)
        .then(resolve, reject)
        .finally(() => {
          verbs.stop(waiting);
        });
    });
  }

  return {
    decide,
    giveBack: (item) => (item.receipt.degraded ? local.giveBack(item) : within('give back', () => store.giveBack(item))),
    claim: (receipt, onceId) => (receipt.degraded ? local.claim(receipt, onceId) : within('claim', () => store.claim(receipt, onceId))),
    extend: (receipt) => (receipt.degraded ? local.extend(receipt) : within('extend', () => store.extend(receipt))),
    async reset(target) {
      await local.reset(target);
      await within('reset', () => store.reset(target));
    },
    async ban(target, us) {
      await local.ban(target, us);
      await within('ban', () => store.ban(target, us));
    },
    async unban(target) {
      await local.unban(target);
      await within('unban', () => store.unban(target));
    },
    ping: () => within('ping', () => store.ping()),
    async close() {
      await local.close();
      await store.close();
    },
  };
}
