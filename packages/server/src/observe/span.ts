import { Distinct } from './distinct.js';
import type { Hashed } from './keyed-hash.js';
import type { Masks } from './masks.js';
import { TopRefused, type Refusals } from './top-refused.js';

/** What happened under a rule in some span of time: at most 6.5 KiB, of which each part is made when there is something to count. */
export class Span {
  /** Microseconds, by the clock of who made it. */
  readonly from: number;
  readonly #masks: Masks;
  #seen: Distinct | undefined;
  #refusedKeys: Distinct | undefined;
  #top: TopRefused | undefined;
  checks = 0;
  /** Checks that the rule refused, or would have if it did not only observe. */
  refused = 0;
  /** Checks refused because the store was away: they say nothing of the rule or its clients. */
  unavailable = 0;

  constructor(from: number, masks: Masks) {
    this.from = from;
    this.#masks = masks;
  }

  /** About how many different keys were checked in all of these. */
  static distinctSeenIn(spans: readonly Span[]): number {
    const all = new Distinct();
    for (const span of spans) if (span.#seen !== undefined) all.merge(span.#seen);
    return Math.round(all.estimate());
  }

  /** About how many different keys were checked. Never more than checks. */
  get distinctSeen(): number {
    return Math.min(this.checks, Math.round(this.#seen?.estimate() ?? 0));
  }

  /** About how many different keys were refused. Never more than refusals. */
  get distinctRefused(): number {
    return Math.min(this.refused, Math.round(this.#refusedKeys?.estimate() ?? 0));
  }

  /** The keys that were refused most, the most first. */
  top(count: number): Refusals[] {
    return this.#top?.top(count) ?? [];
  }

  /** Counts a check. */
  see(hash: Hashed): void {
    this.checks += 1;
    (this.#seen ??= new Distinct()).add(hash);
  }

  /** Counts that a check was refused, which was {@link see}n too. */
  refuse(hash: Hashed, key: string): void {
    this.refused += 1;
    (this.#refusedKeys ??= new Distinct()).add(hash);
    this.#made().add(hash, key);
  }

  /** Counts all of other spans too. */
  merge(others: readonly Span[]): void {
    const tops: TopRefused[] = [];
    for (const other of others) {
      this.checks += other.checks;
      this.refused += other.refused;
      this.unavailable += other.unavailable;
      if (other.#seen !== undefined) (this.#seen ??= new Distinct()).merge(other.#seen);
      if (other.#refusedKeys !== undefined) (this.#refusedKeys ??= new Distinct()).merge(other.#refusedKeys);
      if (other.#top !== undefined) tops.push(other.#top);
    }
    if (tops.length > 0) this.#made().merge(tops);
  }

  #made(): TopRefused {
    return (this.#top ??= new TopRefused(this.#masks));
  }
}
