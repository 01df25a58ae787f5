import type { Group, Store } from '../stores/store.js';
import { Breaker } from './breaker.js';

/** The breakers of one store: one, or where it is several servers one for each place that failed of late. */
export class Breakers {
  readonly #placeOf: ((key: string) => string) | undefined;
  readonly #onChange: (state: 'open' | 'closed') => void;
  readonly #places = new Map<string, Breaker>();
  readonly #whole: Breaker;
  #open = 0;

  /** `onChange`: called when the first breaker opens, and when the last one closes. */
  constructor(store: Store, onChange: (state: 'open' | 'closed') => void) {
    this.#placeOf = store.placeOf === undefined ? undefined : (key) => store.placeOf?.(key) ?? '';
    this.#onChange = onChange;
    this.#whole = this.#make();
  }

  get open(): boolean {
    return this.#open > 0;
  }

  /** Whether a group may go to the store. One that lies on several places only if each of them is well or due: it then tries them out together. */
  admits({ checks }: Group, now: number): boolean {
    if (this.#placeOf === undefined) return this.#whole.admits(now);
    if (this.#places.size === 0) return true;
    const open = this.#known(checks);
    if (!open.every(([, breaker]) => breaker.due(now))) return false;
    for (const [, breaker] of open) breaker.admits(now);
    return true;
  }

  /** Whether the place of a key is not asked at present. */
  isOpenAt(key: string): boolean {
    return this.#placeOf === undefined ? this.#whole.open : this.#places.get(this.#placeOf(key))?.open === true;
  }

  success({ checks }: Group): void {
    if (this.#placeOf === undefined) {
      this.#whole.success();
      return;
    }
    if (this.#places.size === 0) return;
    for (const [place, breaker] of this.#known(checks)) {
      breaker.success();
      this.#places.delete(place);
    }
  }

  failure({ checks }: Group, since: number, now: number): void {
    if (this.#placeOf === undefined) {
      this.#whole.failure(since, now);
      return;
    }
    const place = this.#place(checks);
    if (place === undefined) {
      // Of several places it is not known which one failed: it only ends the trial of those that were tried out.
      for (const [, breaker] of this.#known(checks)) if (breaker.open) breaker.failure(since, now);
      return;
    }
    let breaker = this.#places.get(place);
    if (breaker === undefined) {
      breaker = this.#make();
      this.#places.set(place, breaker);
    }
    breaker.failure(since, now);
  }

  #make(): Breaker {
    return new Breaker({
      onChange: (state) => {
        this.#open += state === 'open' ? 1 : -1;
        if (this.#open === (state === 'open' ? 1 : 0)) this.#onChange(state);
      },
    });
  }

  /** The breakers there are for these checks' places. */
  #known(checks: Group['checks']): [string, Breaker][] {
    const places = new Set(checks.map(({ key }) => this.#placeOf?.(key) ?? ''));
    return [...places].flatMap((place): [string, Breaker][] => {
      const breaker = this.#places.get(place);
      return breaker === undefined ? [] : [[place, breaker]];
    });
  }

  /** The place of all checks; undefined if there are several. */
  #place(checks: Group['checks']): string | undefined {
    const place = this.#placeOf?.(checks[0]?.key ?? '');
    return checks.length === 1 || checks.every(({ key }) => this.#placeOf?.(key) === place) ? place : undefined;
  }
}
