import type { Clock } from '../clock.js';
import { askByPromise } from '../stores/attempt.js';
import { groupOf, passes, unasked } from '../stores/outcome.js';
import type { LocalCounter } from './local-counter.js';
import type { Sync } from './sync.js';
import type { Asking, Check, Group, GroupOutcome, LoneOutcome, Outcome, Store, Target, Ticket } from '../stores/store.js';

export interface LocalOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly leases: LocalCounter;
  readonly sync: Sync;
}

/** How often a check waits for what others may take first; then the store decides it. */
const mostWaits = 3;

/** What is asked of the store in a way of its own is never decided here: parts, turns in the future. */
const isPlain = ({ least, aheadUs }: Check): boolean => least === undefined && aheadUs === undefined;

/** A check of a group that was decided here. */
interface Taken {
  readonly counter: LocalCounter;
  readonly holder: object | undefined;
  readonly outcome: LoneOutcome;
}

const untaken = (outcome: Outcome): Outcome =>
  outcome.taken === 0 ? outcome : { ...outcome, taken: 0, remaining: outcome.remaining + outcome.taken };

/** Whether two checks of a group are of one budget that is counted locally. */
const namesOneTwice = (checks: readonly Check[]): boolean =>
  checks.length > 1 &&
  checks.some((a, index) => a.mode !== undefined && checks.some((b, other) => other > index && a.rule === b.rule && a.key === b.key));

/** A store that counts locally, and how many checks it decided without asking. */
export interface LocalStore extends Store {
  decidedHere(): number;
}

/** Puts the local counters before a store: checks of rules that count locally are decided here, the others there, groups whole. */
export function localStore({ store, clock, leases, sync }: LocalOptions): LocalStore {
  let decidedHere = 0;
  const counters = [leases, sync];
  const counterOf = (check: Check): LocalCounter | undefined => {
    if (check.mode === undefined || !isPlain(check)) return undefined;
    return typeof check.mode === 'object' ? sync : leases;
  };

  function checkNow(check: Check, dry: boolean): LoneOutcome | undefined {
    if (check.mode === undefined || dry || sync.isElsewhere(check)) return undefined;
    const answer = counterOf(check)?.take(check, clock.nowUs());
    if (answer !== undefined) decidedHere += 1;
    return answer;
  }

  /** Those that have to know what the store decides: also of what only the store can decide. */
  const concerned = (check: Check): LocalCounter | undefined => (typeof check.mode === 'object' ? sync : counterOf(check));

  async function asked(group: Group, ticket: Ticket | undefined): Promise<GroupOutcome> {
    if (group.dry === true) return store.decide(group, ticket);
    const askedAt = clock.nowUs();
    const counters = group.checks.map(concerned);
    const done = counters.flatMap((counter, index) => counter?.asking?.(group.checks[index] as Check, askedAt) ?? []);
    try {
      const answer = await store.decide(group, ticket);
      group.checks.forEach((check, index) => {
        const outcome = answer.outcomes[index];
        if (outcome !== undefined) counters[index]?.told(check, { ...answer, outcomes: [outcome] }, askedAt);
      });
      return answer;
    } finally {
      for (const call of done) call();
    }
  }

  async function decideOne(check: Check, counter: LocalCounter, ticket: Ticket | undefined): Promise<GroupOutcome> {
    const since = ticket?.since ?? performance.now();
    try {
      for (let waits = 0; waits < mostWaits; waits += 1) {
        const now = clock.nowUs();
        const answer = counter.take(check, now);
        if (answer !== undefined) {
          decidedHere += 1;
          return groupOf(answer, check);
        }
        const wait = counter.wait(check, now, since);
        if (wait === undefined) break;
        await wait;
      }
    } catch {
      // The guard knows what is to be said in its place.
    }
    const last = counter.take(check, clock.nowUs());
    return last ? groupOf(last, check) : asked({ checks: [check] }, { cancelled: false, sent: false, ...ticket, since });
  }

  /** Takes what can be taken here, by the check's place in the group. */
  function takeHere(checks: readonly Check[]): Map<number, Taken> {
    const now = clock.nowUs();
    const taken = new Map<number, Taken>();
    checks.forEach((check, index) => {
      const counter = counterOf(check);
      const outcome = counter?.take(check, now);
      if (counter !== undefined && outcome !== undefined) taken.set(index, { counter, holder: counter.holderOf(check), outcome });
    });
    return taken;
  }

  function putBack(taken: ReadonlyMap<number, Taken>): void {
    const now = clock.nowUs();
    for (const { counter, holder, outcome } of taken.values()) {
      if (holder !== undefined && outcome.taken > 0) counter.putBack(holder, outcome, now);
    }
  }

  /** The answer to a group of which some was taken here, and the rest, if anything was asked, by the store. */
  function merged(group: Group, taken: ReadonlyMap<number, Taken>, rest: GroupOutcome | undefined): GroupOutcome {
    let next = 0;
    const found = group.checks.map((_, index) => {
      const here = taken.get(index)?.outcome;
      return here === undefined ? (rest?.outcomes[next++] ?? unasked) : { ...here, takenAt: here.takenAt ?? here.now };
    });
    const allowed = passes(
      group,
      found.map((outcome) => outcome.allowed),
    );
    const now = rest?.now ?? Math.max(...[...taken.values()].map(({ outcome }) => outcome.now));
    const local = typeof group.checks.find(({ mode }) => mode)?.mode === 'object' ? 'sync' : 'lease';
    return {
      now,
      allowed,
      outcomes: allowed ? found : found.map(untaken),
      source: rest?.source ?? local,
      degraded: rest?.degraded ?? false,
    };
  }

  /** Takes here what can be, asks the store for the rest together, and puts back if anything refuses. */
  async function decideGroup(group: Group, ticket: Ticket | undefined): Promise<GroupOutcome> {
    const { checks } = group;
    const taken = takeHere(checks);
    const refuses = [...taken].some(([index, { outcome }]) => !outcome.allowed && checks[index]?.shadow !== true);
    const rest = checks.filter((_, index) => !taken.has(index));
    let answer: GroupOutcome | undefined;
    try {
      if (rest.length > 0 && !refuses) answer = await asked({ checks: rest }, ticket);
    } catch (error) {
      putBack(taken);
      throw error;
    }
    const decided = merged(group, taken, answer);
    if (!decided.allowed) putBack(taken);
    if (answer === undefined) decidedHere += checks.length;
    return decided;
  }

  function decide(group: Group, ticket?: Ticket): Promise<GroupOutcome> {
    if (sync.size === 0) return decideSettled(group, ticket);
    const elsewhere = group.checks.filter((check) => sync.isElsewhere(check));
    if (elsewhere.length === 0) return decideSettled(group, ticket);
    const since = ticket?.since ?? performance.now();
    const settled = Promise.allSettled(elsewhere.map((check) => sync.settle(check)));
    return settled.then(() => decideSettled(group, { cancelled: false, sent: false, ...ticket, since }));
  }

  /** What is counted nowhere here goes on as it came. */
  function ask(group: Group, call: Asking): void {
    const { checks } = group;
    const [check] = checks;
    const concernsUs = check === undefined || checks.length > 1 || check.mode !== undefined || (sync.size > 0 && sync.isElsewhere(check));
    if (concernsUs || store.ask === undefined) askByPromise(decide, group, call);
    else store.ask(group, call);
  }

  function decideSettled(group: Group, ticket: Ticket | undefined): Promise<GroupOutcome> {
    const { checks, dry } = group;
    const [check] = checks;
    if (dry === true || checks.every(({ mode }) => mode === undefined)) return store.decide(group, ticket);
    // What counts refusals must reach the store, whoever refuses; and what two checks of one budget can never pass together, it knows.
    if (checks.some(({ countRefused }) => countRefused) || namesOneTwice(checks)) return asked(group, ticket);
    if (check === undefined || checks.length > 1) return decideGroup(group, ticket);
    const counter = counterOf(check);
    return counter === undefined ? asked(group, ticket) : decideOne(check, counter, ticket);
  }

  const flushed = async (target: Pick<Target, 'rule' | 'key'>): Promise<void> => {
    await Promise.all(counters.map((counter) => counter.flush(target)));
  };

  async function reset(target: Target): Promise<void> {
    await store.reset(target);
    for (const counter of counters) counter.forget(target);
  }

  /** The store has to know what was counted here, and then each key is asked about anew. */
  async function after(target: Target, call: () => Promise<void>): Promise<void> {
    await flushed(target);
    await call();
    // What was decided meanwhile may not know of it.
    await flushed(target);
    sync.refresh(target);
  }

  return {
    ...store,
    checkNow,
    decide,
    ask,
    decidedHere: () => decidedHere,
    reset,
    ban: (target, us) => after(target, () => store.ban(target, us)),
    unban: (target) => after(target, () => store.unban(target)),
    // Units that the store does not know of yet could not come back; nor is it known what is used while some are leased.
    giveBack: (item) =>
      sync.size === 0 && item.downTo === undefined ? store.giveBack(item) : flushed(item.receipt).then(() => store.giveBack(item)),
    async close() {
      await Promise.all(counters.map((counter) => counter.close()));
      await store.close();
    },
  };
}
