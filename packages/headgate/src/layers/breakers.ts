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
  constructor({ placeOf }: Store, onChange: (state: 'open' | 'closed') => void) {
    this.#placeOf = placeOf;
    this.#onChange = onChange;
    this.#whole = this.#make();
  }

  get open(): boolean {
    return this.#open > 0;
  }

  /** Whether a group may go to the store. One that lies on several places only if all of them are well: it never tries one out. */
  admits({ checks }: Group, now: number): boolean {
    if (this.#placeOf === undefined) return this.#whole.admits(now);
    if (this.#places.size === 0) return true;
    const place = this.#place(checks);
    if (place !== undefined) return this.#places.get(place)?.admits(now) ?? true;
    return !checks.some(({ key }) => this.#places.get(this.#placeOf?.(key) ?? '')?.open === true);
  }

  success({ checks }: Group): void {
    if (this.#placeOf === undefined) {
      this.#whole.success();
      return;
    }
    if (this.#places.size === 0) return;
    const place = this.#place(checks);
    if (place === undefined) return;
    this.#places.get(place)?.success();
    this.#places.delete(place);
  }

  failure({ checks }: Group, since: number, now: number): void {
    if (this.#placeOf === undefined) {
      this.#whole.failure(since, now);
      return;
    }
    // Of several places it is not known which one failed.
    const place = this.#place(checks);
    if (place === undefined) return;
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

  /** The place of all checks; undefined if there are several. */
  #place(checks: Group['checks']): string | undefined {
    const place = this.#placeOf?.(checks[0]?.key ?? '');
    return checks.length === 1 || checks.every(({ key }) => this.#placeOf?.(key) === place) ? place : undefined;
  }
}
