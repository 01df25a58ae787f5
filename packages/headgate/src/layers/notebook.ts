import type { CountedLimit } from '../limit.js';
import type { Reason } from '../decision.js';
import type { Check } from '../stores/store.js';
import { isAlike } from './alike.js';

/** That a key is refused, for a cost and above. Times in microseconds, by this process's clock. */
export interface Note {
  readonly rule: string;
  readonly key: string;
  readonly limit: CountedLimit;
  /** What was refused; 1 under a ban, which refuses all. */
  cost: number;
  /** Until when it is believed without asking. */
  until: number;
  retryAt: number;
  resetAt: number;
  remaining: number;
  reason: Reason;
  /** How long it lasts because others elsewhere take what comes back; 0 if nothing says so. */
  contendedUs: number;
  /** The call that asks again, now that the note is over. */
  asking: Promise<void> | undefined;
  /** Another limit's note of the same rule and key. */
  sibling: Note | undefined;
  older: Note | undefined;
  newer: Note | undefined;
}

/** What is written anew with each answer. */
export type Said = Pick<Note, 'cost' | 'until' | 'retryAt' | 'resetAt' | 'remaining' | 'reason' | 'contendedUs'>;

/** Notes that are over, removed for each new one. */
const leaving = 2;

/** A bounded set of notes by rule, key and the limit's numbers; full, the oldest gives way. Every step is O(1). */
export class Notebook {
  readonly #max: number;
  readonly #rules = new Map<string, Map<string, Note>>();
  #oldest: Note | undefined;
  #newest: Note | undefined;
  #size = 0;
  /** Notes that gave way while still in force. */
  dropped = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#size;
  }

  find({ rule, key, limit }: Check): Note | undefined {
    let note = this.#rules.get(rule)?.get(key);
    while (note !== undefined && !isAlike(note.limit, limit)) note = note.sibling;
    return note;
  }

  /** Writes a note, in the place of this check's earlier one. */
  write(check: Check, says: Said, now: number): void {
    const known = this.find(check);
    if (known !== undefined) {
      Object.assign(known, says);
      this.#unlink(known);
      this.#link(known);
      return;
    }
    this.#makeRoom(now);
    const { rule, key, limit } = check;
    let keys = this.#rules.get(rule);
    if (keys === undefined) {
      keys = new Map();
      this.#rules.set(rule, keys);
    }
    // Written out: with a spread of `says`, a note took two to eight times as long to make.
    const { cost, until, retryAt, resetAt, remaining, reason, contendedUs } = says;
    const note: Note = {
      rule,
      key,
      limit,
      cost,
      until,
      retryAt,
      resetAt,
      remaining,
      reason,
      contendedUs,
      asking: undefined,
      sibling: keys.get(key),
      older: undefined,
      newer: undefined,
    };
    keys.set(key, note);
    this.#link(note);
    this.#size += 1;
  }

  /** More leave than come, so that what an attack left behind does not stay. */
  #makeRoom(now: number): void {
    for (let i = 0; i < leaving; i += 1) {
      const oldest = this.#oldest;
      if (oldest === undefined) return;
      const isOver = oldest.until <= now && oldest.asking === undefined;
      if (!isOver && this.#size < this.#max) return;
      if (oldest.until > now) this.dropped += 1;
      this.remove(oldest);
    }
  }

  remove(note: Note): void {
    const keys = this.#rules.get(note.rule);
    const first = keys?.get(note.key);
    if (keys === undefined || first === undefined) return;
    if (first === note) {
      if (note.sibling !== undefined) keys.set(note.key, note.sibling);
      else keys.delete(note.key);
      if (keys.size === 0) this.#rules.delete(note.rule);
    } else {
      let before: Note | undefined = first;
      while (before !== undefined && before.sibling !== note) before = before.sibling;
      // Removed before.
      if (before === undefined) return;
      before.sibling = note.sibling;
    }
    this.#unlink(note);
    this.#size -= 1;
  }

  /** Removes what is noted of a rule and key, under any limit. */
  forget(rule: string, key: string): void {
    const keys = this.#rules.get(rule);
    for (let note = keys?.get(key); note !== undefined; note = keys?.get(key)) this.remove(note);
  }

  #link(note: Note): void {
    note.older = this.#newest;
    note.newer = undefined;
    if (this.#newest) this.#newest.newer = note;
    else this.#oldest = note;
    this.#newest = note;
  }

  #unlink(note: Note): void {
    if (note.older) note.older.newer = note.newer;
    else this.#oldest = note.newer;
    if (note.newer) note.newer.older = note.older;
    else this.#newest = note.older;
  }
}
