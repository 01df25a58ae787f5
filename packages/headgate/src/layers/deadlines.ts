/** A call that waits: who is answered otherwise takes `onTime` away. */
export interface Waiting {
  readonly until: number;
  onTime: (() => void) | undefined;
}

/**
 * One deadline for many calls: they expire in the order in which they came, so one timer serves all. When it fires, replies
 * that already lie in a socket are read first (one more turn of the loop): a stall of this process is not the store's.
 */
export class Deadlines {
  readonly #ms: number;
  #queue: Waiting[] = [];
  #head = 0;
  #armed = false;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Calls `onTime` once the deadline has passed, unless it is taken away before. */
  start(onTime: () => void): Waiting {
    const waiting: Waiting = { until: performance.now() + this.#ms, onTime };
    this.#queue.push(waiting);
    if (!this.#armed) this.#arm(this.#ms);
    return waiting;
  }

  #arm(ms: number): void {
    this.#armed = true;
    setTimeout(() => setImmediate(this.#expire), Math.max(1, Math.ceil(ms)));
  }

  readonly #expire = (): void => {
    this.#armed = false;
    const now = performance.now();
    for (; this.#head < this.#queue.length; this.#head += 1) {
      const waiting = this.#queue[this.#head];
      if (waiting?.onTime === undefined) continue;
      if (waiting.until > now) {
        this.#arm(waiting.until - now);
        break;
      }
      waiting.onTime();
    }
    if (this.#head >= this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
    } else if (this.#head > 1024 && this.#head > this.#queue.length / 2) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
  };
}
