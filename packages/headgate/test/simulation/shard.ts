import { createMemoryStore } from '../../src/stores/memory.js';
import { receiptOf } from '../../src/stores/outcome.js';
import { StoreError } from '../../src/errors.js';
import type { GiveBack, Group, GroupOutcome, Meeting, Outcome, Store, Ticket } from '../../src/stores/store.js';
import type { Trip } from './network.js';
import { clockOf, type Schedule } from './schedule.js';

const deadlineUs = 10_000;
const verbDeadlineUs = 1_000_000;

/** Ways to break the promise, so that the checks can be seen to notice. */
export type Sabotage = 'every lot twice' | 'windows end late' | 'totals forgotten';

/** One server: a memory store with a clock of its own, which tells of what it decides. */
export class Shard {
  readonly clock;
  readonly store;
  readonly #heard: (group: Group, answer: GroupOutcome) => void;
  readonly #meetings = new Map<string, Map<string, number>>();

  constructor(schedule: Schedule, offsetUs: number, heard: (group: Group, answer: GroupOutcome) => void) {
    this.clock = clockOf(schedule, offsetUs);
    this.store = createMemoryStore({ clock: this.clock });
    this.#heard = heard;
  }

  decide(group: Group): GroupOutcome {
    const answer = this.store.decideNow(group) as GroupOutcome;
    this.#heard(group, answer);
    return answer;
  }

  /** As the script of the Redis store does: who has not said so for long does not count. */
  meet({ keys, member, forUs }: Meeting): number[] {
    const now = this.clock.nowUs();
    return keys.map(({ rule, key }) => {
      const id = `${rule}\n${key}`;
      const there = this.#meetings.get(id) ?? new Map<string, number>();
      this.#meetings.set(id, there);
      for (const [other, until] of there) if (until <= now) there.delete(other);
      there.set(member, now + forUs);
      return there.size;
    });
  }
}

export interface LinkOptions {
  readonly schedule: Schedule;
  readonly shard: Shard;
  readonly travel: () => Trip;
  /** Whether the process is there to hear an answer. */
  readonly isUp: () => boolean;
  readonly sabotage: Sabotage | undefined;
}

function sabotaged(group: Group, answer: GroupOutcome, sabotage: Sabotage | undefined): GroupOutcome {
  const [check] = group.checks;
  if (sabotage === undefined || check === undefined) return answer;
  const outcomes = answer.outcomes.map((outcome) => {
    const isLot = check.least !== undefined && check.least > 0;
    if (sabotage === 'every lot twice') return isLot ? { ...outcome, taken: outcome.taken * 2 } : outcome;
    if (sabotage === 'totals forgotten') return check.least === 0 ? { ...outcome, remaining: 1e6 } : outcome;
    return isLot && outcome.windowEnd !== undefined ? { ...outcome, windowEnd: outcome.windowEnd + 300_000 } : outcome;
  });
  return { ...answer, outcomes };
}

const unavailable: Outcome = {
  allowed: false,
  taken: 0,
  remaining: 0,
  retryAfterUs: 1000,
  resetAfterUs: 1000,
  reason: 'store-unavailable',
};

const never = async (): Promise<never> => {
  throw new StoreError('not part of the simulation');
};

/** A shard as one process has it: behind a network, and with the guard's manners, which refuses what is not answered in time. */
export class Link implements Store {
  readonly #options: LinkOptions;
  readonly claim = never;
  readonly extend = never;
  readonly reset = never;
  readonly ban = never;
  readonly unban = never;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  decide(group: Group, ticket?: Ticket): Promise<GroupOutcome> {
    const { schedule, shard, travel, isUp, sabotage } = this.#options;
    const trip = travel();
    let over = false;
    return new Promise((resolve, reject) => {
      const answered = (theirs: GroupOutcome): void => {
        const answer = sabotaged(group, theirs, sabotage);
        if (!over) {
          over = true;
          resolve(answer);
        } else if (ticket?.late !== undefined) ticket.late(answer);
        else this.#undo(group, theirs);
      };
      this.#carry(trip, () => shard.decide(group), answered);
      if (this.#isInTime(trip, deadlineUs)) return;
      // A connection that is known to be gone is known at once.
      schedule.at(schedule.nowUs + (trip.sent ? deadlineUs : 0), () => {
        if (!isUp()) return;
        over = true;
        if (ticket?.late === undefined) {
          const outcomes = group.checks.map(() => unavailable);
          resolve({ now: shard.clock.nowUs(), allowed: false, outcomes, source: 'fallback', degraded: true });
          return;
        }
        ticket.sent = trip.sent;
        reject(new StoreError('not answered in time'));
      });
    });
  }

  giveBack(item: GiveBack): Promise<number> {
    return this.#verb(() => this.#options.shard.store.giveBack(item));
  }

  meet(meeting: Meeting): Promise<readonly number[]> {
    return this.#verb(() => this.#options.shard.meet(meeting));
  }

  async ping(): Promise<void> {}

  async close(): Promise<void> {}

  /** Carries one call there and its answer back, if they arrive. */
  #carry<T>({ arrivesAt, returnsAt }: Trip, call: () => T, back: (answer: T) => void): void {
    const { schedule, isUp } = this.#options;
    if (arrivesAt === undefined) return;
    schedule.at(arrivesAt, () => {
      const answer = call();
      if (returnsAt !== undefined) schedule.at(returnsAt, () => void (isUp() && back(answer)));
    });
  }

  #isInTime({ returnsAt }: Trip, us: number): boolean {
    return returnsAt !== undefined && returnsAt < this.#options.schedule.nowUs + us;
  }

  /** Rejected if it is not answered by the deadline of what is no decision. */
  #verb<T>(call: () => T | Promise<T>): Promise<T> {
    const { schedule, travel, isUp } = this.#options;
    const trip = travel();
    return new Promise<T>((resolve, reject) => {
      this.#carry(trip, call, resolve);
      if (this.#isInTime(trip, verbDeadlineUs)) return;
      schedule.at(schedule.nowUs + verbDeadlineUs, () => void (isUp() && reject(new StoreError('not answered'))));
    });
  }

  /** The store has taken for what was refused here. */
  #undo(group: Group, answer: GroupOutcome): void {
    if (group.dry || !answer.allowed) return;
    group.checks.forEach((check, index) => {
      const outcome = answer.outcomes[index];
      const receipt = outcome && receiptOf(check, outcome, answer);
      if (receipt) void this.giveBack({ receipt, units: receipt.taken }).catch(() => undefined);
    });
  }
}
