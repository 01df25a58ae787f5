/** A key's state in memory. */
export interface Budget {
  state: unknown;
  /** The end of a ban, 0 if none. */
  bannedUntil: number;
  /** When it is worth no more than an absent one. */
  expiresAt: number;
  /** How full it was when last written: 0 is closed (nothing can be taken), `fullest` nearly full. */
  fullness: number;
}

/** Degrees of fullness that are told apart when room must be made. */
export const fullest = 8;

/** How full a budget is, from what remains of its size. */
export function fullnessOf(remaining: number, size: number): number {
  return remaining <= 0 ? 0 : Math.max(1, Math.min(fullest, Math.floor((fullest * remaining) / size)));
}

/** Keys examined for each one written, so that expired ones leave without a timer. */
const swept = 2;

/** Closed budgets examined when there is nothing else left to drop. */
const reexamined = 8;

/**
 * A bounded map of budgets. Full, it drops the fullest ones first, and never one that is closed: pressure does not open a
 * limit that was closed.
 */
export class Budgets {
  readonly #max: number;
  readonly #byKey = new Map<string, Budget>();
  readonly #byFullness: readonly Set<string>[] = Array.from({ length: fullest + 1 }, () => new Set<string>());
  #sweeper: Iterator<[string, Budget]> | undefined;
  dropped = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#byKey.size;
  }

  get(key: string): Budget | undefined {
    return this.#byKey.get(key);
  }

  delete(key: string): void {
    const budget = this.#byKey.get(key);
    if (budget === undefined) return;
    this.#byFullness[budget.fullness]?.delete(key);
    this.#byKey.delete(key);
  }

  /** Whether one more fits, if need be in the place of another. */
  hasRoom(now: number): boolean {
    return this.#byKey.size < this.#max || this.#makeRoom(now);
  }

  /** Adds or replaces a budget. Who adds asks `hasRoom` first. */
  set(key: string, budget: Budget, now: number): void {
    const old = this.#byKey.get(key);
    if (old === undefined || old.fullness !== budget.fullness) {
      if (old !== undefined) this.#byFullness[old.fullness]?.delete(key);
      this.#byFullness[budget.fullness]?.add(key);
    }
    this.#byKey.set(key, budget);
    this.#sweep(now);
  }

  #makeRoom(now: number): boolean {
    for (let fullness = fullest; fullness >= 1; fullness -= 1) {
      for (const key of this.#byFullness[fullness] ?? []) {
        if ((this.#byKey.get(key)?.expiresAt ?? 0) > now) this.dropped += 1;
        this.delete(key);
        return true;
      }
    }
    let examined = 0;
    const closed = this.#byFullness[0] ?? new Set();
    for (const key of closed) {
      if ((this.#byKey.get(key)?.expiresAt ?? 0) <= now) {
        this.delete(key);
        return true;
      }
      if (++examined >= reexamined) break;
      closed.delete(key);
      closed.add(key);
    }
    return false;
  }

  #sweep(now: number): void {
    for (let i = 0; i < swept; i += 1) {
      this.#sweeper ??= this.#byKey.entries();
      const next = this.#sweeper.next();
      if (next.done === true) {
        this.#sweeper = undefined;
        return;
      }
      if (next.value[1].expiresAt <= now) this.delete(next.value[0]);
    }
  }
}
