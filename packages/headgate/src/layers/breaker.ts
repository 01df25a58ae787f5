/** Failures in a row that open the breaker. */
const failuresToOpen = 3;
/** How long a store that failed is left alone before one call tries it: doubled with each vain attempt, up to the longest. */
const shortestPauseMs = 50;
const longestPauseMs = 200;

export interface BreakerOptions {
  /** Called once when it opens, and once when it closes again. */
  readonly onChange: (state: 'open' | 'closed') => void;
}

/**
 * Keeps callers from waiting for a store that does not answer: after a few failures in a row it is left alone for a short,
 * jittered time, then one call tries it (Nygard, "Release It!", circuit breaker). Times are milliseconds of one clock.
 */
export class Breaker {
  readonly #options: BreakerOptions;
  #failures = 0;
  /** When the failure that was counted last became known. */
  #failedAt = Number.NEGATIVE_INFINITY;
  #open = false;
  #pauseMs = shortestPauseMs;
  #pausedUntil = 0;
  #probing = false;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get open(): boolean {
    return this.#open;
  }

  /** Whether a call may go to the store; while open, true for one call at a time, and only after the pause. */
  admits(now: number): boolean {
    if (!this.#open) return true;
    if (this.#probing || now < this.#pausedUntil) return false;
    this.#probing = true;
    return true;
  }

  /** Whether `admits` would say yes; changes nothing. */
  due(now: number): boolean {
    return !this.#open || (!this.#probing && now >= this.#pausedUntil);
  }

  success(): void {
    this.#failures = 0;
    if (!this.#open) return;
    this.#open = false;
    this.#probing = false;
    this.#pauseMs = shortestPauseMs;
    this.#options.onChange('closed');
  }

  /** A call that began at `since` failed. Calls that were under way together are one failure: they met the same hiccup. */
  failure(since: number, now: number): void {
    if (this.#open) {
      // Calls from before it opened say nothing of how it is now.
      if (!this.#probing || since < this.#pausedUntil) return;
      this.#probing = false;
      this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
      this.#pause(now);
      return;
    }
    if (since < this.#failedAt) return;
    this.#failedAt = now;
    this.#failures += 1;
    if (this.#failures < failuresToOpen) return;
    this.#open = true;
    this.#pause(now);
    this.#options.onChange('open');
  }

  // Jitter, or a whole fleet would come back to a Redis that is just starting in the same millisecond.
  #pause(now: number): void {
    this.#failures = 0;
    this.#pausedUntil = now + this.#pauseMs * (0.75 + Math.random() / 2);
  }
}
