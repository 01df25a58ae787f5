/**
 * What is known of the keys seen last, in bounded memory: of at least `most` of them, of at most twice as many. Two generations: once the young
 * one is full it becomes the old one, and what was not looked up since the time before is forgotten.
 */
export class Recent<V> {
  readonly #most: number;
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  /** Whether anything was ever forgotten. */
  hasForgotten = false;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old === undefined) return undefined;
    this.#old.delete(key);
    this.set(key, old);
    return old;
  }

  set(key: string, value: V): void {
    this.#old.delete(key);
    if (this.#young.size >= this.#most && !this.#young.has(key)) {
      this.hasForgotten ||= this.#old.size > 0;
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }
}
