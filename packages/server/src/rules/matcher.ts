import type { Match } from './match.js';
import { factsOf, methodFacts, vocabularyOf, type Circumstances } from './match-facts.js';
import { collect, type Condition, type Facts, type MatchIndex } from './match-index.js';
import { authorityOf, readingsOf } from './match-path.js';
import { buildTrie, walk, type Routed } from './match-trie.js';
import { atOnce, type Sliced } from './slices.js';

/** A request by its first line. */
export interface Line {
  readonly method: string;
  readonly target: string;
}

/** A request as rules match it. Under several lines, hosts or lines of a field, the rules of each apply. */
export interface Asked extends Circumstances {
  readonly lines: readonly Line[];
}

export interface Matcher<T> {
  /** The rules that match, in the order of the file, each once. */
  match(asked: Asked): readonly T[];
}

/** The same condition for all rules that ask the same: less memory, and what is asked often is near. */
function sharing(): (condition: Condition) => Condition {
  const known = new Map<string, Condition>();
  return (condition) => {
    const there = known.get(condition.id) ?? condition;
    known.set(condition.id, there);
    return there;
  };
}

/**
 * Compiles the rules into one structure: a tree of path segments, and at each place where patterns end an index by host, header fields, plan and
 * method. Rules without a match are in none.
 */
export function* buildMatcher<T extends { readonly match: Match | undefined }>(rules: Iterable<T>): Sliced<Matcher<T>> {
  const all = [...rules];
  const shared = sharing();
  const routed: Routed[] = [];
  for (const [order, { match }] of all.entries()) {
    if (order % 256 === 0) yield;
    if (match !== undefined) routed.push({ order, path: match.path, conditions: match.conditions.map(shared) });
  }
  const trie = yield* buildTrie(routed);
  const vocabulary = vocabularyOf(routed.flatMap(({ conditions }) => conditions));

  /** In the order of the file, each once. */
  function rulesAt(places: number[]): T[] {
    if (places.length > 1) places.sort((a, b) => a - b);
    const found: T[] = [];
    let before = -1;
    for (const place of places) {
      const rule = all[place];
      if (place !== before && rule !== undefined) found.push(rule);
      before = place;
    }
    return found;
  }

  function hostsOf({ hosts, lines }: Asked): readonly string[] {
    if (lines.every(({ target }) => target.startsWith('/'))) return hosts;
    return [...hosts, ...lines.map(({ target }) => authorityOf(target)).filter((authority) => authority !== undefined)];
  }

  return {
    match(asked) {
      const places: number[] = [];
      let circumstances: Facts | undefined;
      for (const { method, target } of asked.lines) {
        const indexes: MatchIndex[] = [];
        for (const segments of readingsOf(target)) walk(trie, segments, indexes);
        if (indexes.length === 0) continue;
        circumstances ??= factsOf(vocabulary, { hosts: hostsOf(asked), headers: asked.headers, plan: asked.plan });
        const { host, header, plan } = circumstances;
        const facts: Facts = { method: methodFacts(vocabulary, method), host, header, plan };
        for (const index of indexes) collect(index, facts, places);
      }
      return rulesAt(places);
    },
  };
}

/** The same at once. */
export const createMatcher = <T extends { readonly match: Match | undefined }>(rules: Iterable<T>): Matcher<T> =>
  atOnce(buildMatcher(rules));
