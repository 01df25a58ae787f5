import { originMs, type Clock } from '../clock.js';
import { StoreError } from '../errors.js';
import type { MissedCalls } from '../limiter-types.js';
import { createMemoryStore } from '../stores/memory.js';
import { receiptOf } from '../stores/outcome.js';
import { askByPromise, attempt } from '../stores/attempt.js';
import type { Asking, Check, GiveBack, Group, GroupOutcome, Meeting, Outcome, Receipt, Store, Ticket } from '../stores/store.js';
import { Breakers } from './breakers.js';
import { Deadlines, type Waiting } from './deadlines.js';
import { fallback } from './fallback.js';
import { LastAnswers } from './last-answers.js';
import { Ledger } from './ledger.js';

export interface GuardOptions {
  readonly store: Store;
  /** By when every decision is answered, in milliseconds. */
  readonly deadlineMs: number;
  /** Processes that share the store: this one's share of a limit is one part of so many. */
  readonly fleetSize: () => number;
  readonly clock: Clock;
  /** Once for each change: the store is asked no more, or is in use again. */
  readonly onChange: (state: 'unavailable' | 'available') => void;
  /** Told of each answer that came in time, asked for at a microsecond of the clock; what it returns is what the caller gets. */
  readonly hear: (group: Group, answer: GroupOutcome, askedAt: number) => GroupOutcome;
  /** Units that stay taken, as what should have given them back failed. */
  readonly onLost: () => void;
}

/** A guarded store, and how it does. */
export interface GuardedStore extends Store {
  /** Whether the shared store is asked at present. */
  available(): boolean;
  /** Budgets with units that were let through and not yet charged. */
  owing(): number;
  /** Units that will never be charged, as there were too many budgets to keep in mind. */
  lost(): number;
  /** Calls that it did not answer in time so far. */
  readonly missed: MissedCalls;
}

const nobody = (): void => undefined;

const isForeign = (error: unknown): boolean => error instanceof StoreError && error.code === 'HEADGATE_FOREIGN_VALUE';

const isOutcome = (outcome: Outcome | null | undefined): boolean =>
  typeof outcome === 'object' && outcome !== null && typeof outcome.allowed === 'boolean' && outcome.remaining >= 0;

/** Whether a store of somebody's own keeps the contract. */
const isAnswer = (answer: GroupOutcome | undefined, { checks }: Group): answer is GroupOutcome =>
  answer !== undefined &&
  Number.isFinite(answer.now) &&
  Array.isArray(answer.outcomes) &&
  answer.outcomes.length === checks.length &&
  answer.outcomes.every(isOutcome);

type Caller = Pick<Asking, 'answered' | 'failed'>;

/** What becomes of a call. */
interface Fates {
  answered(call: Call, theirs: GroupOutcome): void;
  failed(call: Call, error: unknown): void;
}

/**
 * One decision on its way: what waits, what is sent, what is told of the answer, and our own answer once the store's is not waited
 * for any more. One object, as one is made for every check.
 */
class Call implements Waiting, Asking {
  until = 0;
  before: this | undefined = undefined;
  after: this | undefined = undefined;
  over = false;
  excused = false;
  cancelled = false;
  sent = false;
  ours: GroupOutcome | undefined = undefined;
  /** Rejected, as its caller decides for himself. */
  rejected = false;
  readonly group: Group;
  readonly asked: Ticket | undefined;
  /** Who is told of the decision. */
  readonly caller: Caller;
  /** When it began, in milliseconds of the clock. */
  readonly began: number;
  readonly #fates: Fates;

  constructor(group: Group, { asked, caller, began, fates }: Pick<Call, 'asked' | 'caller' | 'began'> & { fates: Fates }) {
    this.group = group;
    this.asked = asked;
    this.caller = caller;
    this.began = began;
    this.#fates = fates;
  }

  answered(theirs: GroupOutcome): void {
    this.#fates.answered(this, theirs);
  }

  failed(error: unknown): void {
    this.#fates.failed(this, error);
  }
}

interface VerbCall extends Waiting {
  readonly giveUp: () => void;
}

/** By when a verb that is no decision is given up, in milliseconds. */
const verbDeadlineMs = 1000;

/**
 * Puts a deadline and a breaker before a store: a decision that is late or fails is made without it, by the rule's
 * `whenUnavailable`, and charged to the store once it is back, if it can be known that it was not counted.
 */
export function guard({ store, deadlineMs, fleetSize, clock, onChange, hear, onLost }: GuardOptions): GuardedStore {
  /** The store's clock less ours, by its last answer. */
  let aheadUs = 0;
  let readUs = 0;
  const storeClock: Clock = { nowUs: () => clock.nowUs() + aheadUs, after: clock.after };
  const local = createMemoryStore({ clock: storeClock });
  const answers = new LastAnswers();
  const ledger = new Ledger({
    store: { decide: charge },
    clock: storeClock,
    isAway: ({ key }) => breakers.isOpenAt(key),
    onAnswer: (check, answer) => learn({ checks: [check] }, answer, true),
  });
  const alone = fallback({ local, clock: storeClock, fleetSize, answers, ledger });
  const nowMs = (): number => clock.nowUs() / 1000;
  const origin = originMs(clock);
  const breakers = new Breakers(store, (state) => onChange(state === 'open' ? 'unavailable' : 'available'));
  const decisions = new Deadlines<Call>(deadlineMs, late);
  const fates: Fates = { answered, failed };
  const missed = { late: 0, failed: 0, unasked: 0 };
  const verbs = new Deadlines<VerbCall>(verbDeadlineMs, ({ giveUp }) => giveUp());

  /** A late answer's reading of the clock is old: local windows would end twice. */
  function learn(group: Group, { now, outcomes }: GroupOutcome, isLate = false): void {
    // Those of one batch have one reading.
    if (!isLate && now !== readUs) {
      readUs = now;
      aheadUs = now - clock.nowUs();
    }
    for (let i = 0; i < group.checks.length; i += 1) {
      const check = group.checks[i];
      const outcome = outcomes[i];
      if (check?.whenUnavailable === 'local' && outcome !== undefined) answers.remember(check, outcome, now);
    }
  }

  /** A charge that is never answered must not hold up its key for ever; what was not sent by then never is. */
  function charge(group: Group, ticket?: Ticket): Promise<GroupOutcome> {
    return within('charge', () => store.decide(group, ticket)).catch((error: unknown) => {
      if (ticket) ticket.cancelled = true;
      throw error;
    });
  }

  /** What is owed for these budgets comes first: the store must not decide on counters that lack it. */
  function ask(call: Call): void {
    const { group } = call;
    if (ledger.size === 0 && store.ask !== undefined) {
      store.ask(group, call);
      return;
    }
    const decideSettled = async (): Promise<GroupOutcome> => {
      if (!(await ledger.settle(group.checks)) || call.cancelled) throw new StoreError('what the store is owed could not be charged');
      return store.decide(group, call);
    };
    askByPromise(ledger.size === 0 ? () => store.decide(group, call) : decideSettled, group, call);
  }

  /** The store has taken for a request that was refused here. */
  function undo(group: Group, { now, outcomes }: GroupOutcome, concerns: (check: Check, index: number) => boolean): void {
    group.checks.forEach((check, index) => {
      const outcome = outcomes[index];
      const receipt =
        outcome && !check.countRefused && concerns(check, index) ? receiptOf(check, outcome, { now, degraded: false }) : undefined;
      if (receipt) attempt(() => store.giveBack({ receipt, units: receipt.taken })).catch(onLost);
    });
  }

  /** The store's answer, when the caller has had ours. */
  function reconcile(group: Group, ours: GroupOutcome, theirs: GroupOutcome): void {
    learn(group, theirs, true);
    if (group.dry === true) return;
    // A holder that the caller was given no receipt of could never be released.
    if (theirs.allowed)
      undo(group, theirs, ({ holder }, index) => !ours.allowed || (holder !== undefined && ours.outcomes[index]?.taken === 0));
    // The store has counted those that count refusals.
    else alone.owe(group, ours, ({ countRefused }) => countRefused !== true);
  }

  /** Its caller has waited elsewhere as long as anybody may. */
  const isOver = (asked: Ticket | undefined): boolean => asked?.since !== undefined && performance.now() - asked.since >= deadlineMs;

  function begin(group: Group, asked: Ticket | undefined, caller: Caller): void {
    const began = nowMs();
    if (isOver(asked) || !breakers.admits(group, began)) {
      missed.unasked += 1;
      if (asked?.late !== undefined) caller.failed(new StoreError('the store is not asked for now'));
      else {
        const ours = decideAlone(group, caller);
        if (ours === undefined) return;
        alone.owe(group, ours);
        caller.answered(ours);
      }
      return;
    }
    const call = new Call(group, { asked, caller, began, fates });
    decisions.start(call, asked?.since ?? (origin === undefined ? undefined : began - origin));
    ask(call);
  }

  function decideAlone(group: Group, caller: Caller): GroupOutcome | undefined {
    try {
      return alone.decide(group);
    } catch (closed) {
      caller.failed(closed);
      return undefined;
    }
  }

  function answerAlone(call: Call, error: unknown): void {
    call.cancelled = true;
    const { asked, caller } = call;
    if (asked?.late === undefined) {
      call.ours = decideAlone(call.group, caller);
      if (call.ours !== undefined) caller.answered(call.ours);
      return;
    }
    asked.sent = call.sent;
    call.rejected = true;
    caller.failed(error);
  }

  function late(call: Call): void {
    breakers.failure(call.group, call.began, nowMs());
    missed.late += 1;
    answerAlone(call, new StoreError(`the store did not answer within ${deadlineMs} ms`));
  }

  function failed(call: Call, error: unknown): void {
    const { group, began } = call;
    const foreign = isForeign(error);
    if (!call.cancelled) {
      decisions.stop(call);
      missed.failed += 1;
      if (foreign) breakers.success(group);
      else breakers.failure(group, began, nowMs());
      answerAlone(call, error);
    }
    // Sent, and the connection lost: it may have been counted, and is not counted twice.
    if (!call.sent && !foreign && call.ours !== undefined) alone.owe(group, call.ours);
  }

  function answered(call: Call, theirs: GroupOutcome): void {
    const { group, ours } = call;
    if (!isAnswer(theirs, group)) failed(call, new StoreError('the store answered with something that is no outcome'));
    else if (call.rejected) {
      learn(group, theirs, true);
      call.asked?.late?.(theirs);
    } else if (ours !== undefined) reconcile(group, ours, theirs);
    else {
      decisions.stop(call);
      learn(group, theirs);
      breakers.success(group);
      call.caller.answered(hear(group, theirs, call.began * 1000));
      if (ledger.size > 0) void ledger.drain();
      else local.tidy();
    }
  }

  function within<T>(what: string, call: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(new StoreError(`${what}: the store did not answer within ${verbDeadlineMs} ms`));
      const waiting: VerbCall = { until: 0, before: undefined, after: undefined, over: false, excused: false, giveUp };
      verbs.start(waiting);
      attempt(call)
        .then(resolve, reject)
        .finally(() => {
          verbs.stop(waiting);
        });
    });
  }

  /** Taken here. A holder may be in both places: its call's late answer may have been a yes. */
  async function here<T>(receipt: Receipt, call: (of: Store) => Promise<T>): Promise<T> {
    const result = await call(local);
    if (receipt.holder !== undefined) attempt(() => call(store)).catch(() => undefined);
    return result;
  }

  async function giveBackHere(item: GiveBack): Promise<number> {
    const units = await here(item.receipt, (of) => of.giveBack(item));
    ledger.forgive(item.receipt, units);
    return units;
  }

  /** The attempt succeeded. Where the store cannot be told, nothing is forgotten here either: its count stays. */
  async function forget(item: GiveBack): Promise<number> {
    const { rule, key, limit, degraded } = item.receipt;
    const target = { rule, key, kinds: [limit.kind] };
    const units = degraded ? await local.giveBack(item) : await within('give back', () => store.giveBack(item));
    if (units === 0) return 0;
    ledger.forget(target);
    answers.forget(target);
    if (!degraded) await local.reset(target);
    // What failed before the outage is forgotten too, if the store is there: it knows of no attempt as late as this one.
    else attempt(() => store.giveBack({ ...item, receipt: { ...item.receipt, takenAt: storeClock.nowUs() } })).catch(nobody);
    return units;
  }

  function giveBack(item: GiveBack): Promise<number> {
    if (item.forget === true) return forget(item);
    return item.receipt.degraded ? giveBackHere(item) : within('give back', () => store.giveBack(item));
  }

  return {
    decide: (group, asked) => new Promise((answered, failed) => begin(group, asked, { answered, failed })),
    ask: (group, call) => begin(group, call, call),
    giveBack,
    claim: (receipt, onceId) => (receipt.degraded ? local.claim(receipt, onceId) : within('claim', () => store.claim(receipt, onceId))),
    ...(store.meet && { meet: (meeting: Meeting) => within('meet', () => store.meet?.(meeting) ?? Promise.resolve([])) }),
    extend: (receipt) => (receipt.degraded ? here(receipt, (of) => of.extend(receipt)) : within('extend', () => store.extend(receipt))),
    async reset(target) {
      ledger.forget(target);
      answers.forget(target);
      await local.reset(target);
      await within('reset', () => store.reset(target));
    },
    async ban(target, us) {
      // Full of closed budgets, it has no room; the store has.
      await local.ban(target, us).catch(() => undefined);
      await within('ban', () => store.ban(target, us));
    },
    async unban(target) {
      await local.unban(target);
      await within('unban', () => store.unban(target));
    },
    ping: () => within('ping', () => store.ping()),
    async close() {
      // What passed without the store is charged before the process goes, if the store is there.
      if (ledger.size > 0 && !breakers.open) await within('charge', () => ledger.drain()).catch(() => undefined);
      await local.close();
      await store.close();
    },
    available: () => !breakers.open,
    owing: () => ledger.size,
    lost: () => ledger.lost,
    missed,
  };
}
