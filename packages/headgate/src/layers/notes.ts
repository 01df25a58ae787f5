import type { Clock } from '../clock.js';
import { largestCost, type CountedLimit } from '../limit.js';
import { askByPromise } from '../stores/attempt.js';
import { costsTogether, unasked } from '../stores/outcome.js';
import type { Asking, Check, Group, GroupOutcome, LoneOutcome, Outcome, Store, Ticket } from '../stores/store.js';
import { Notebook, type Note } from './notebook.js';

/** The longest that a refusal is believed without asking: whatever changes elsewhere is seen within it. */
const longestUs = 1_000_000;

export interface NotesOptions {
  readonly store: Store;
  /** Notes at once. */
  readonly max: number;
  readonly clock: Clock;
  /** Whether the store below tells of its answers by `hear`, which saves a promise for each. */
  readonly heard?: boolean;
}

/** A store with notes before it, and how many there are. */
export interface NotedStore extends Store {
  /** Takes note of an answer, asked for at a microsecond of the clock, and makes it say no less than its notes do. */
  hear(group: Group, answer: GroupOutcome, askedAt: number): GroupOutcome;
  notes(): { readonly size: number; readonly dropped: number; readonly refused: number };
}

/** Whether a check may be refused by a note: what counts refusals, holds, looks, or takes part of its cost, must reach the store. */
const notable = ({ limit, countRefused, shadow, least, aheadUs }: Check): boolean =>
  limit.kind !== 'concurrency' && countRefused !== true && shadow !== true && least === undefined && aheadUs === undefined;

/** When a cost above the noted one may pass, by this process's clock: no earlier than it really could. */
function retryAtOf(note: Note, { limit, cost }: Check): number {
  if (cost === note.cost || note.reason === 'banned') return note.retryAt;
  if (cost > largestCost(limit)) return Number.POSITIVE_INFINITY;
  if (limit.kind === 'tokenBucket') return note.retryAt + Math.ceil(((cost - note.cost) * 1e6 * limit.creditUs) / limit.creditUnits);
  // Within one window all costs that fit wait for its end; where units come back one by one, the end of them is enough.
  return limit.kind === 'fixedWindow' || limit.kind === 'quota' ? note.retryAt : Math.max(note.retryAt, note.resetAt);
}

function refusalBy(note: Note, check: Check, { now, aheadUs }: { now: number; aheadUs: number }): LoneOutcome {
  const retryAt = retryAtOf(note, check);
  const never = retryAt === Number.POSITIVE_INFINITY;
  return {
    allowed: false,
    taken: 0,
    remaining: note.remaining,
    retryAfterUs: retryAt - now,
    resetAfterUs: Math.max(0, note.resetAt - now),
    reason: never && note.reason === 'limited' ? 'cost-above-limit' : note.reason,
    now: now + aheadUs,
    source: 'note',
    degraded: false,
  };
}

/** When a bucket of which nothing is left has a unit again: no earlier than it really has, and two microseconds later at most. */
function nextUnitUs(limit: CountedLimit, { resetAfterUs }: Outcome): number {
  if (limit.kind !== 'tokenBucket') return 0;
  return resetAfterUs - Math.floor(((limit.capacity - 1) * 1e6 * limit.creditUs) / limit.creditUnits);
}

interface Answered {
  readonly check: Check;
  readonly cost: number;
  readonly outcome: Outcome;
  readonly askedAt: number;
}

/**
 * How long a key's note lasts as others elsewhere take what comes back: refused again though by the note it should have passed, twice its wait, then
 * twice that each time; never so long that a full bucket would wait for it. An answer that passes and leaves something ends it.
 */
function contention(known: Note | undefined, { check, cost, outcome, askedAt }: Answered): number {
  if (known === undefined || known.cost !== cost) return 0;
  const { allowed, remaining, retryAfterUs, resetAfterUs } = outcome;
  if (allowed) return remaining === 0 && check.limit.kind === 'tokenBucket' ? Math.min(known.contendedUs, resetAfterUs) : 0;
  if (askedAt < known.until || askedAt + retryAfterUs <= known.retryAt) return 0;
  const most = Math.min(longestUs, resetAfterUs);
  return Math.min(most, 2 * Math.max(known.contendedUs, retryAfterUs));
}

/**
 * A short memory of who is refused, before a store: a key that the store refused is refused here, for that cost and above, until
 * it may pass, at most a second. While one call asks again, others of that key wait for its answer.
 */
export function notes({ store, max, clock, heard = false }: NotesOptions): NotedStore {
  const book = new Notebook(max);
  let aheadUs = 0;
  let refused = 0;

  function take(group: Group, answer: GroupOutcome, askedAt: number): GroupOutcome {
    const { allowed, now, degraded } = answer;
    if (degraded) return answer;
    // Nothing is noted, nothing is to be: most answers.
    if (allowed && (book.size === 0 || !group.checks.some((check) => book.find(check)))) return answer;
    const answeredAt = clock.nowUs();
    aheadUs = now - answeredAt;
    const costs = allowed ? [] : costsTogether(group, ({ rule, key, limit }) => `${rule}\n${limit.kind}\n${key}`);
    const outcomes = answer.outcomes.map((outcome, index) => {
      const check = group.checks[index];
      if (check === undefined || !notable(check)) return outcome;
      const known = book.find(check);
      const cost = outcome.allowed || outcome.reason === 'banned' ? 1 : (costs[index] ?? check.cost);
      const contendedUs = contention(known, { check, cost, outcome, askedAt });
      if (outcome.allowed && contendedUs === 0) {
        // Also of a smaller cost: what was left, and the wait, are no longer what the note says.
        if (known !== undefined) book.remove(known);
        return outcome;
      }
      const waitUs = outcome.allowed ? nextUnitUs(check.limit, outcome) : outcome.retryAfterUs;
      // Believed from when it was asked, told from when it was answered: a note must not outlast the truth, nor tell of less.
      const until = askedAt + Math.max(Math.min(waitUs, longestUs), contendedUs);
      const retryAt = Math.max(answeredAt + waitUs, until);
      const { remaining, reason } = outcome.allowed ? ({ remaining: 0, reason: 'limited' } as const) : outcome;
      book.write(check, { cost, until, retryAt, resetAt: answeredAt + outcome.resetAfterUs, remaining, reason, contendedUs }, askedAt);
      return outcome.allowed || contendedUs === 0 ? outcome : { ...outcome, retryAfterUs: retryAt - answeredAt };
    });
    return { ...answer, outcomes };
  }

  function ask(group: Group, ticket: Ticket | undefined): Promise<GroupOutcome> {
    if (heard) return store.decide(group, ticket);
    const askedAt = clock.nowUs();
    return store.decide(group, ticket).then((answer) => take(group, answer, askedAt));
  }

  /** The note that concerns a check: in force, or over and not yet asked about again. */
  function noteOf(check: Check): Note | undefined {
    const note = notable(check) ? book.find(check) : undefined;
    return note !== undefined && check.cost >= note.cost ? note : undefined;
  }

  function refusal(group: Group, found: { check: Check; note: Note }, now: number): GroupOutcome {
    refused += 1;
    const outcomes = group.checks.map((check) => {
      const note = check === found.check ? found.note : noteOf(check);
      return note !== undefined && now < note.until ? refusalBy(note, check, { now, aheadUs }) : unasked;
    });
    return { now: now + aheadUs, allowed: false, outcomes, source: 'note', degraded: false };
  }

  /** One call asks again where notes are over, and is waited for by all that come meanwhile. */
  function askAgain(group: Group, over: readonly Note[], ticket: Ticket | undefined): Promise<GroupOutcome> {
    const answer = ask(group, ticket);
    const done = (): void => {
      for (const note of over) if (note.asking === asking) note.asking = undefined;
    };
    const asking = answer.then(done, done);
    for (const note of over) note.asking = asking;
    return answer;
  }

  function decide(group: Group, ticket?: Ticket): Promise<GroupOutcome> {
    if (group.dry === true) return store.decide(group, ticket);
    // What counts refusals must reach the store, whoever refuses.
    const counting = group.checks.length > 1 && group.checks.some(({ countRefused }) => countRefused);
    return book.size === 0 || counting ? ask(group, ticket) : decideNoted(group, ticket, true);
  }

  /** What no note concerns goes on as it came. */
  function askFor(group: Group, call: Asking): void {
    const isUnnoted = group.dry === true || book.size === 0 || group.checks.every((check) => noteOf(check) === undefined);
    if (heard && isUnnoted && store.ask !== undefined) store.ask(group, call);
    else askByPromise(decide, group, call);
  }

  /** A note in force refuses; one that is over is asked about by `decide`. */
  function checkNow(check: Check, dry: boolean): LoneOutcome | undefined {
    const note = book.size === 0 || dry ? undefined : noteOf(check);
    if (note === undefined) return store.checkNow?.(check, dry);
    const now = clock.nowUs();
    if (now >= note.until) return undefined;
    refused += 1;
    return refusalBy(note, check, { now, aheadUs });
  }

  function decideNoted(group: Group, ticket: Ticket | undefined, mayWait: boolean): Promise<GroupOutcome> {
    let over: Note[] | undefined;
    let asking: Promise<void> | undefined;
    for (const check of group.checks) {
      const note = noteOf(check);
      if (note === undefined) continue;
      const now = clock.nowUs();
      if (now < note.until) return Promise.resolve(refusal(group, { check, note }, now));
      asking ??= note.asking;
      (over ??= []).push(note);
    }
    if (over === undefined) return ask(group, ticket);
    if (asking === undefined) return askAgain(group, over, ticket);
    if (!mayWait) return ask(group, ticket);
    const since = ticket?.since ?? performance.now();
    return asking.then(() => decideNoted(group, { cancelled: false, sent: false, ...ticket, since }, false));
  }

  /** Once the store has done what changes a key's budget, its notes say nothing any more. */
  async function thenForget<T>({ rule, key }: { rule: string; key: string }, call: Promise<T>): Promise<T> {
    const done = await call;
    book.forget(rule, key);
    return done;
  }

  return {
    checkNow,
    decide,
    ask: askFor,
    hear: take,
    giveBack: (item) => thenForget(item.receipt, store.giveBack(item)),
    claim: (receipt, onceId) => store.claim(receipt, onceId),
    extend: (receipt) => store.extend(receipt),
    reset: (target) => thenForget(target, store.reset(target)),
    ban: (target, us) => thenForget(target, store.ban(target, us)),
    unban: (target) => thenForget(target, store.unban(target)),
    ping: () => store.ping(),
    close: () => store.close(),
    notes: () => ({ size: book.size, dropped: book.dropped, refused }),
  };
}
