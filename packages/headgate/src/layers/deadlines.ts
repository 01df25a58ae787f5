/** A call that waits, linked to its neighbours: one that is answered is taken out at once, and leaves nothing behind. */
export interface Waiting {
  until: number;
  before: this | undefined;
  after: this | undefined;
  over: boolean;
  /** Was given the time of a stall back, which happens once. */
  excused: boolean;
}

/** A timer that fires later than this tells of a stall of this process. */
const stallMs = 2;

/**
 * One deadline for many calls: they expire in the order in which they came, so one timer serves all. When it fires, replies
 * that already lie in a socket are read first (one more turn of the loop), and what could not be sent during a stall of this process
 * gets the time back, up to one deadline: its stall is not the store's.
 */
export class Deadlines<W extends Waiting> {
  readonly #ms: number;
  readonly #onTime: (waiting: W) => void;
  #first: W | undefined;
  #last: W | undefined;
  #timer: NodeJS.Timeout | undefined;
  #due = 0;

  /** `onTime`: called once the deadline of a call has passed, unless the call is stopped before. */
  constructor(ms: number, onTime: (waiting: W) => void) {
    this.#ms = ms;
    this.#onTime = onTime;
  }

  /** A call begins to wait. `since`: when its caller did. */
  start(waiting: W, since = performance.now()): void {
    const until = since + this.#ms;
    let before = this.#last;
    // Only one that has waited elsewhere before goes ahead of others.
    while (before !== undefined && before.until > until) before = before.before;
    const after = before === undefined ? this.#first : before.after;
    waiting.until = until;
    waiting.before = before;
    waiting.after = after;
    if (before) before.after = waiting;
    else this.#first = waiting;
    if (after) after.before = waiting;
    else this.#last = waiting;
    if (this.#timer === undefined || until < this.#due) this.#arm(until - performance.now());
    else if (before === after) this.#timer.ref();
  }

  /** The call is answered. */
  stop(waiting: W): void {
    if (waiting.over) return;
    waiting.over = true;
    const { before, after } = waiting;
    // Or one that grew old while it waited would hold all that came after it.
    waiting.before = undefined;
    waiting.after = undefined;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    // With nobody waiting it keeps no process alive; it is not cleared, as the next check is near.
    if (this.#first === undefined) this.#timer?.unref();
  }

  #arm(ms: number): void {
    clearTimeout(this.#timer);
    const delay = Math.max(1, Math.ceil(ms));
    this.#due = performance.now() + delay;
    this.#timer = setTimeout(() => {
      const late = performance.now() - this.#due;
      setImmediate(() => this.#expire(late));
    }, delay);
  }

  #expire(late: number): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const now = performance.now();
    if (late > stallMs) this.#excuse(now, Math.min(late, this.#ms));
    for (let waiting = this.#first; waiting; waiting = this.#first) {
      if (waiting.until > now) {
        this.#arm(waiting.until - now);
        break;
      }
      this.stop(waiting);
      this.#onTime(waiting);
    }
  }

  /** Gives those whose deadline passed in a stall its time back. */
  #excuse(now: number, ms: number): void {
    for (let waiting = this.#first; waiting && waiting.until <= now; waiting = waiting.after) {
      if (waiting.excused) continue;
      waiting.excused = true;
      waiting.until = now + ms;
    }
  }
}
