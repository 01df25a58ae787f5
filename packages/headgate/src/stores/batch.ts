import { StoreError } from '../errors.js';
import { attempt } from './attempt.js';
import type { Asking, Group, GroupOutcome, Ticket } from './store.js';

/** What a call said of one group: an outcome, an error of its own, or that the borders of a calendar were stale. */
export type Verdict = GroupOutcome | StoreError | 'stale';

/** Checks in one call: 64 take Redis well under a millisecond, more gain nothing. */
const checksPerCall = 64;
/**
 * Under load, what waits when all calls are back goes in two: while one is decided there, the other is written or read here. With
 * fewer, a call of its own costs more than that saves.
 */
const checksWorthTwoCalls = 16;
/** A call that came back so many milliseconds ago, or less, tells of load: its callers are asking again. */
const justBackMs = 1;
/** Calls of a lane on their way at once; what arrives meanwhile travels together in the next. */
const callsInFlight = 2;
/** What travels alone may be on its way more often. */
const aloneInFlight = 16;
/** Groups that may wait: beyond it a store that does not answer would fill the memory. */
const mostWaiting = 50_000;

interface Waiting {
  readonly group: Group;
  readonly ticket: Ticket | undefined;
  /** Who is told. */
  readonly call: Pick<Asking, 'answered' | 'failed'>;
  /** Asked once more with the store's own time, after the borders of a calendar were stale. */
  retried: boolean;
}

/** The connection that calls go over. */
export interface Connection {
  /** 'connecting' until first ready or first failure; 'down' = would fail at once. */
  state(): 'connecting' | 'ready' | 'down';
  /** Calls back once when state() leaves 'connecting'. */
  onceSettled(callback: () => void): void;
}

export interface BatchOptions {
  /** Whom is asked, for errors. */
  readonly name: string;
  readonly connection: Connection;
  /** Whether an error means that nothing was counted. */
  readonly wasNotDone: (error: unknown) => boolean;
  /** Groups that share no call, as they take long; none if absent. */
  readonly isHeavy?: (group: Group) => boolean;
  /** Runs one call: a verdict per group. */
  readonly run: (groups: readonly Group[]) => Promise<readonly Verdict[]>;
  /** In a cluster, which groups may share a call, by name: those of one slot. */
  readonly laneOf?: (group: Group) => string;
}

/** What may share calls, and its calls on their way. Lanes do not wait for each other: a node that hangs holds up its own slots only. */
interface Lane {
  readonly name: string;
  light: Waiting[];
  heavy: Waiting[];
  lightCalls: number;
  heavyCalls: number;
  /** When a light call came back last, by `performance.now()`. */
  backAt: number;
  /** Something arrived, or a call came back, since it was last looked at. */
  due: boolean;
}

const openLane = (name: string): Lane => ({
  name,
  light: [],
  heavy: [],
  lightCalls: 0,
  heavyCalls: 0,
  backAt: Number.NEGATIVE_INFINITY,
  due: false,
});

/** Takes groups off the front, up to what one call carries. */
function takeCall(lane: Lane): Waiting[] {
  const items = lane.light;
  const inTwo = lane.lightCalls === 0 && items.length >= checksWorthTwoCalls && performance.now() - lane.backAt < justBackMs;
  const most = inTwo ? Math.min(checksPerCall, Math.ceil(items.length / 2)) : checksPerCall;
  let checks = 0;
  let count = 0;
  for (const { group } of items) {
    if (count > 0 && checks + group.checks.length > most) break;
    checks += group.checks.length;
    count += 1;
  }
  lane.light = count === items.length ? [] : items.splice(count);
  return items;
}

/**
 * Collects the checks of one turn of the event loop into calls. With nothing on its way a check leaves at the end
 * of its turn; under load, what arrives while two calls are on their way travels in the next.
 */
export class Batch {
  readonly #options: BatchOptions;
  /** The lane of all groups; in a cluster there are many, and here are those with something waiting or on its way. */
  readonly #only: Lane | undefined;
  readonly #lanes = new Map<string, Lane>();
  #due: Lane[] = [];
  #waiting = 0;
  #scheduled = false;
  #held = false;

  constructor(options: BatchOptions) {
    this.#options = options;
    if (options.laneOf !== undefined) return;
    this.#only = openLane('');
    this.#lanes.set('', this.#only);
  }

  decide(group: Group, ticket: Ticket | undefined): Promise<GroupOutcome> {
    return new Promise((answered, failed) => this.#ask(group, ticket, { answered, failed }));
  }

  ask(group: Group, call: Asking): void {
    this.#ask(group, call, call);
  }

  #ask(group: Group, ticket: Ticket | undefined, call: Waiting['call']): void {
    if (this.#waiting >= mostWaiting) call.failed(new StoreError(`over ${mostWaiting} checks wait for ${this.#options.name}`));
    else this.#push({ group, ticket, call, retried: false });
  }

  #push(item: Waiting): void {
    const lane = this.#only ?? this.#laneOf(item.group);
    (this.#options.isHeavy?.(item.group) ? lane.heavy : lane.light).push(item);
    this.#waiting += 1;
    this.#mark(lane);
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(this.#flush);
  }

  #laneOf(group: Group): Lane {
    const name = this.#options.laneOf?.(group) ?? '';
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = openLane(name);
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  #mark(lane: Lane): void {
    if (lane.due) return;
    lane.due = true;
    this.#due.push(lane);
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    const { connection } = this.#options;
    const state = connection.state();
    if (state === 'connecting') {
      if (this.#held) return;
      this.#held = true;
      connection.onceSettled(() => {
        this.#held = false;
        this.#flush();
      });
      return;
    }
    if (state === 'down') this.#rejectWaiting();
    const due = this.#due;
    this.#due = [];
    for (const lane of due) this.#send(lane);
  };

  #rejectWaiting(): void {
    for (const lane of this.#lanes.values()) {
      const waiting = [...lane.light, ...lane.heavy];
      lane.light = [];
      lane.heavy = [];
      for (const item of this.#leaving(waiting)) item.call.failed(new StoreError(`${this.#options.name} is not connected`));
      // Looked at once more, and forgotten if nothing is on its way.
      this.#mark(lane);
    }
  }

  #send(lane: Lane): void {
    lane.due = false;
    while (lane.light.length > 0 && lane.lightCalls < callsInFlight) {
      const items = this.#wanted(takeCall(lane));
      if (items.length === 0) continue;
      lane.lightCalls += 1;
      this.#run(items, () => {
        lane.lightCalls -= 1;
        lane.backAt = performance.now();
        this.#returned(lane);
      });
    }
    while (lane.heavy.length > 0 && lane.heavyCalls < aloneInFlight) {
      const items = this.#wanted(lane.heavy.splice(0, 1));
      if (items.length === 0) continue;
      lane.heavyCalls += 1;
      this.#run(items, () => {
        lane.heavyCalls -= 1;
        this.#returned(lane);
      });
    }
    // With calls on their way nothing is ever left waiting for good: it is looked at again when one comes back.
    this.#forgetIdle(lane);
  }

  /** A call of this lane has come back. */
  #returned(lane: Lane): void {
    if (lane.light.length + lane.heavy.length === 0) {
      this.#forgetIdle(lane);
      return;
    }
    this.#mark(lane);
    this.#flush();
  }

  #forgetIdle(lane: Lane): void {
    if (lane !== this.#only && lane.lightCalls === 0 && lane.heavyCalls === 0 && !lane.due) this.#lanes.delete(lane.name);
  }

  #leaving(items: Waiting[]): Waiting[] {
    this.#waiting -= items.length;
    return items;
  }

  /** Of those that leave the queue, the ones that somebody still waits for. */
  #wanted(items: Waiting[]): Waiting[] {
    this.#leaving(items);
    if (!items.some(({ ticket }) => ticket?.cancelled)) return items;
    for (const { ticket, call } of items) if (ticket?.cancelled) call.failed(new StoreError('dropped before it was sent'));
    return items.filter(({ ticket }) => !ticket?.cancelled);
  }

  /** Calls back once the call is back, and settles every item. */
  #run(items: readonly Waiting[], done: () => void): void {
    for (const { ticket } of items) if (ticket) ticket.sent = true;
    attempt(() => this.#options.run(items.map((item) => item.group))).then(
      (verdicts) => {
        // What waits leaves first: else the store would wait until all of these are told.
        done();
        for (let i = 0; i < items.length; i += 1) this.#settle(items[i] as Waiting, verdicts[i]);
      },
      (cause: unknown) => {
        const error = cause instanceof StoreError ? cause : new StoreError(`${this.#options.name} answered with an error`, { cause });
        for (const item of items) {
          this.#fail(item, error, cause);
        }
        done();
      },
    );
  }

  #settle(item: Waiting, verdict: Verdict | undefined): void {
    if (verdict === 'stale' && !item.retried) {
      item.retried = true;
      this.#push(item);
    } else if (verdict === undefined || verdict === 'stale')
      item.call.failed(new StoreError(`${this.#options.name} answered for fewer checks than were asked`));
    else if (verdict instanceof StoreError) this.#fail(item, verdict, verdict);
    else item.call.answered(verdict);
  }

  #fail({ ticket, call }: Waiting, error: StoreError, cause: unknown): void {
    if (ticket && this.#options.wasNotDone(cause)) ticket.sent = false;
    call.failed(error);
  }
}
