import type { Check, Target } from '../stores/store.js';
import { isAlike } from './alike.js';

/** What is kept for each rule and key; a key under several limits (plans) has one for each. */
export class PerKey<T extends { readonly check: Check }> {
  readonly #rules = new Map<string, Map<string, T[]>>();
  size = 0;

  find({ rule, key, limit }: Check): T | undefined {
    const found = this.#rules.get(rule)?.get(key);
    if (found === undefined) return undefined;
    return found[0]?.check.limit === limit ? found[0] : found.find(({ check }) => isAlike(check.limit, limit));
  }

  /** The one there is, if it is of this limit and the only one of its key. */
  only({ rule, key, limit }: Check): T | undefined {
    const found = this.#rules.get(rule)?.get(key);
    return found?.length === 1 && found[0] !== undefined && isAlike(found[0].check.limit, limit) ? found[0] : undefined;
  }

  of({ rule, key }: Pick<Target, 'rule' | 'key'>): readonly T[] {
    return this.#rules.get(rule)?.get(key) ?? [];
  }

  add(item: T): void {
    const { rule, key } = item.check;
    const keys = this.#rules.get(rule) ?? new Map<string, T[]>();
    this.#rules.set(rule, keys);
    keys.set(key, [...(keys.get(key) ?? []), item]);
    this.size += 1;
  }

  /** Nothing happens to what is not there. */
  remove(item: T): void {
    const { rule, key } = item.check;
    const keys = this.#rules.get(rule);
    const found = keys?.get(key);
    if (keys === undefined || found === undefined || !found.includes(item)) return;
    this.size -= 1;
    const others = found.filter((other) => other !== item);
    if (others.length > 0) keys.set(key, others);
    else keys.delete(key);
    if (keys.size === 0) this.#rules.delete(rule);
  }

  /** Without a list of them. */
  forEach(look: (item: T) => void): void {
    for (const keys of this.#rules.values()) for (const items of keys.values()) items.forEach(look);
  }

  all(): T[] {
    return [...this.#rules.values()].flatMap((keys) => [...keys.values()].flat());
  }
}
