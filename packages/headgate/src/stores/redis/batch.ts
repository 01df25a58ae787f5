import { StoreError } from '../../errors.js';
import type { Group, GroupOutcome, Ticket } from '../store.js';
import type { RedisAdapter } from './adapters/adapter.js';
import type { Verdict } from './wire.js';

/** Checks in one script call: 64 take Redis well under a millisecond, more gain nothing. */
const checksPerCall = 64;
/** Script calls on their way at once; what arrives meanwhile travels together in the next. */
const callsInFlight = 2;
/** Sliding logs travel alone, so more of them may be on their way. */
const logsInFlight = 16;
/** Groups that may wait: beyond it a store that does not answer would fill the memory. */
const mostWaiting = 50_000;

interface Waiting {
  readonly group: Group;
  readonly ticket: Ticket | undefined;
  readonly resolve: (outcome: GroupOutcome) => void;
  readonly reject: (error: unknown) => void;
  /** Asked once more with the store's own time, after the borders of a calendar were stale. */
  retried: boolean;
}

export interface BatchOptions {
  readonly adapter: RedisAdapter;
  /** Runs one call: a verdict per group. */
  readonly run: (groups: readonly Group[]) => Promise<readonly Verdict[]>;
  /** Groups that may share a call, by name; in a cluster the slot. */
  readonly laneOf: (group: Group) => string;
}

const isHeavy = (group: Group): boolean => group.checks.some((check) => check.limit.kind === 'slidingLog');

/**
 * Collects the checks of one turn of the event loop into script calls. With nothing on its way a check leaves at the end
 * of its turn; under load, what arrives while two calls are on their way travels in the next.
 */
export class Batch {
  readonly #options: BatchOptions;
  #light: Waiting[] = [];
  #heavy: Waiting[] = [];
  #lightCalls = 0;
  #heavyCalls = 0;
  #scheduled = false;
  #held = false;

  constructor(options: BatchOptions) {
    this.#options = options;
  }

  decide(group: Group, ticket: Ticket | undefined): Promise<GroupOutcome> {
    return new Promise((resolve, reject) => {
      if (this.#light.length + this.#heavy.length >= mostWaiting) {
        reject(new StoreError(`over ${mostWaiting} checks wait for Redis`));
        return;
      }
      this.#push({ group, ticket, resolve, reject, retried: false });
    });
  }

  #push(item: Waiting): void {
    (isHeavy(item.group) ? this.#heavy : this.#light).push(item);
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(this.#flush);
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    const { adapter } = this.#options;
    const state = adapter.state();
    if (state === 'connecting') {
      if (this.#held) return;
      this.#held = true;
      adapter.onceSettled(() => {
        this.#held = false;
        this.#flush();
      });
      return;
    }
    if (state === 'down') {
      const waiting = [...this.#light, ...this.#heavy];
      this.#light = [];
      this.#heavy = [];
      for (const item of waiting) item.reject(new StoreError('Redis is not connected'));
      return;
    }
    while (this.#light.length > 0 && this.#lightCalls < callsInFlight) this.#sendLight();
    while (this.#heavy.length > 0 && this.#heavyCalls < logsInFlight) this.#sendHeavy();
  };

  #sendLight(): void {
    let checks = 0;
    let count = 0;
    for (const { group } of this.#light) {
      if (count > 0 && checks + group.checks.length > checksPerCall) break;
      checks += group.checks.length;
      count += 1;
    }
    const items = this.#light.slice(0, count);
    this.#light = this.#light.slice(count);
    const lanes = new Map<string, Waiting[]>();
    for (const item of items) {
      if (item.ticket?.cancelled) {
        item.reject(new StoreError('dropped before it was sent'));
        continue;
      }
      const lane = this.#options.laneOf(item.group);
      const known = lanes.get(lane);
      if (known) known.push(item);
      else lanes.set(lane, [item]);
    }
    if (lanes.size === 0) return;
    this.#lightCalls += 1;
    let open = lanes.size;
    const done = (): void => {
      open -= 1;
      if (open > 0) return;
      this.#lightCalls -= 1;
      this.#flush();
    };
    for (const lane of lanes.values()) void this.#run(lane).then(done);
  }

  #sendHeavy(): void {
    const item = this.#heavy.shift();
    if (item === undefined) return;
    if (item.ticket?.cancelled) {
      item.reject(new StoreError('dropped before it was sent'));
      return;
    }
    this.#heavyCalls += 1;
    void this.#run([item]).then(() => {
      this.#heavyCalls -= 1;
      this.#flush();
    });
  }

  /** Never rejects: every item is settled. */
  async #run(items: readonly Waiting[]): Promise<void> {
    for (const { ticket } of items) if (ticket) ticket.sent = true;
    try {
      const verdicts = await this.#options.run(items.map((item) => item.group));
      items.forEach((item, index) => this.#settle(item, verdicts[index]));
    } catch (cause) {
      const error = cause instanceof StoreError ? cause : new StoreError('Redis answered with an error', { cause });
      for (const item of items) item.reject(error);
    }
  }

  #settle(item: Waiting, verdict: Verdict | undefined): void {
    if (verdict === 'stale' && !item.retried) {
      item.retried = true;
      this.#push(item);
    } else if (verdict === undefined || verdict === 'stale') item.reject(new StoreError('Redis answered for fewer checks than were asked'));
    else if (verdict instanceof StoreError) item.reject(verdict);
    else item.resolve(verdict);
  }
}
