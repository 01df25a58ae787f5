import type { Cells } from '../algorithms/index.js';

/** The budgets of one rule and kind of limit, by key. */
export type Page = Map<string, Budget>;

/** Where a budget is: whose, and how full it was when last written: 0 is closed (nothing can be taken), `fullest` nearly full. */
interface Place {
  readonly page: Page;
  readonly key: string;
  readonly fullness: number;
}

/** A key's state in memory, written over in place. */
export class Budget implements Cells {
  a = 0;
  b = 0;
  c = 0;
  /** The state, of an algorithm that has no cells. */
  state: unknown = undefined;
  /** Whether it has a state: a ban alone has none. */
  counted = false;
  /** The end of a ban, 0 if none. */
  bannedUntil = 0;
  /** When it is worth no more than an absent one. */
  expiresAt = 0;
  fullness: number;
  readonly page: Page;
  readonly key: string;

  constructor({ page, key, fullness }: Place) {
    this.page = page;
    this.key = key;
    this.fullness = fullness;
  }
}

/** Degrees of fullness that are told apart when room must be made. */
export const fullest = 8;

/** How full a budget is, from what remains of its size. */
export function fullnessOf(remaining: number, size: number): number {
  return remaining <= 0 ? 0 : Math.max(1, Math.min(fullest, Math.floor((fullest * remaining) / size)));
}

/** Keys examined for each one added, so that expired ones leave without a timer. */
const swept = 2;

/** Closed budgets examined when there is nothing else left to drop. */
const reexamined = 8;

/**
 * A bounded map of budgets. Full, it drops the fullest ones first, and never one that is closed: pressure does not open a
 * limit that was closed.
 */
export class Budgets {
  readonly #max: number;
  /** By rule and kind: looked up by the user's own strings, as putting one together for each check would cost more than deciding it. */
  readonly #pages = new Map<string, Map<string, Page>>();
  readonly #byFullness: readonly Set<Budget>[] = Array.from({ length: fullest + 1 }, () => new Set<Budget>());
  readonly #last: { rule: string; kind: string; page: Page } = { rule: '', kind: '', page: this.#find('', '') };
  #sweptSet = 0;
  #sweeper: Iterator<Budget> | undefined;
  #size = 0;
  dropped = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#size;
  }

  /** Rules come from configuration, so their pages stay. */
  page(rule: string, kind: string): Page {
    const last = this.#last;
    if (last.rule !== rule || last.kind !== kind) {
      last.page = this.#find(rule, kind);
      last.rule = rule;
      last.kind = kind;
    }
    return last.page;
  }

  #find(rule: string, kind: string): Page {
    let kinds = this.#pages.get(rule);
    if (kinds === undefined) {
      kinds = new Map();
      this.#pages.set(rule, kinds);
    }
    let page = kinds.get(kind);
    if (page === undefined) {
      page = new Map();
      kinds.set(kind, page);
    }
    return page;
  }

  delete(budget: Budget): void {
    if (!this.has(budget)) return;
    budget.page.delete(budget.key);
    this.#byFullness[budget.fullness]?.delete(budget);
    this.#size -= 1;
  }

  /** Whether one more fits, if need be in the place of another. */
  hasRoom(now: number): boolean {
    return this.#size < this.#max || this.#makeRoom(now);
  }

  /** Whether a budget is still kept. */
  has(budget: Budget): boolean {
    return budget.page.get(budget.key) === budget;
  }

  /** Adds an empty budget, in the place of an older one of that key. Who adds asks `hasRoom` first, and writes the budget at once. */
  add(place: Place, now: number): Budget {
    this.sweep(now);
    const { page, key, fullness } = place;
    const old = page.get(key);
    if (old !== undefined) this.delete(old);
    const budget = new Budget(place);
    page.set(key, budget);
    this.#byFullness[fullness]?.add(budget);
    this.#size += 1;
    return budget;
  }

  /** A budget's state has changed, and so how full it is. */
  refill(budget: Budget, fullness: number): void {
    if (budget.fullness === fullness) return;
    this.#byFullness[budget.fullness]?.delete(budget);
    this.#byFullness[fullness]?.add(budget);
    budget.fullness = fullness;
  }

  #makeRoom(now: number): boolean {
    for (let fullness = fullest; fullness >= 1; fullness -= 1) {
      for (const budget of this.#byFullness[fullness] ?? []) {
        if (budget.expiresAt > now) this.dropped += 1;
        this.delete(budget);
        return true;
      }
    }
    let examined = 0;
    const closed = this.#byFullness[0] ?? new Set();
    for (const budget of closed) {
      if (budget.expiresAt <= now) {
        this.delete(budget);
        return true;
      }
      if (++examined >= reexamined) break;
      closed.delete(budget);
      closed.add(budget);
    }
    return false;
  }

  /** Drops some of those that have expired; called again and again, all of them. */
  sweep(now: number): void {
    for (let i = 0; i < swept; i += 1) {
      this.#sweeper ??= this.#byFullness[this.#sweptSet]?.values();
      const next = this.#sweeper?.next();
      if (next?.done !== false) {
        this.#sweeper = undefined;
        this.#sweptSet = (this.#sweptSet + 1) % (fullest + 1);
      } else if (next.value.expiresAt <= now) this.delete(next.value);
    }
  }
}
