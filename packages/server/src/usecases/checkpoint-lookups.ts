import { setImmediate } from 'node:timers/promises';

/** Looked up in one query: SQLite works in this process, where decisions have milliseconds. */
const mostTogether = 64;
/** Queries under way: one that is slow does not hold up all others. */
const mostQueries = 2;

export interface LookupsOptions<Item, Found> {
  /** One query: what was found of each, in order. */
  readonly find: (items: readonly Item[]) => Promise<readonly (Found | undefined)[]>;
  /** Uses what was found of one. Must not reject. */
  readonly use: (item: Item, found: Found | undefined) => Promise<void>;
  /** A query failed: neither what it asked nor what waited for the next is looked up. */
  readonly onFailed: (error: Error) => void;
}

export interface Lookups<Item> {
  /** To be looked up; nothing if it is already. */
  add(item: Item): void;
  /** Waiting or under way. */
  readonly size: number;
  /** Once all that was added until now is done; what comes meanwhile is not waited for. */
  soFar(): Promise<void>;
}

/**
 * Looks items up in as few queries as there is time for: the first leaves at once, what comes while two are under way goes together. What
 * waits is bounded by who adds: each item waits once.
 */
export function lookups<Item, Found>({ find, use, onFailed }: LookupsOptions<Item, Found>): Lookups<Item> {
  const waiting = new Set<Item>();
  const underWay = new Set<Item>();
  const queries = new Set<Promise<void>>();

  async function query(items: readonly Item[]): Promise<void> {
    try {
      // Decisions come first; and what waits for the same turn of the loop goes together.
      await setImmediate();
      const found = await find(items);
      await Promise.all(items.map((item, index) => use(item, found[index])));
    } catch (error) {
      waiting.clear();
      onFailed(error as Error);
    } finally {
      for (const item of items) underWay.delete(item);
    }
  }

  function start(): void {
    while (queries.size < mostQueries && waiting.size > 0) {
      const items: Item[] = [];
      for (const item of waiting) {
        items.push(item);
        if (items.length === mostTogether) break;
      }
      for (const item of items) {
        waiting.delete(item);
        underWay.add(item);
      }
      const running = query(items).finally(() => {
        queries.delete(running);
        start();
      });
      queries.add(running);
    }
  }

  return {
    add(item) {
      if (underWay.has(item)) return;
      waiting.add(item);
      start();
    },
    get size() {
      return waiting.size + underWay.size;
    },
    async soFar() {
      // They leave in the order in which they came.
      const last = [...waiting].at(-1);
      while (last !== undefined && waiting.has(last)) await Promise.race(queries);
      await Promise.all(queries);
    },
  };
}
