import { buildIndex, type Candidate, type MatchIndex } from './match-index.js';
import type { PathPattern } from './match-path.js';
import type { Sliced } from './slices.js';

/** A place in the tree of all patterns: those that begin with the same segments share it. */
export interface TrieNode {
  readonly depth: number;
  readonly literals: ReadonlyMap<string, TrieNode> | undefined;
  /** Under any one segment. */
  readonly parameter: TrieNode | undefined;
  /** Rules whose pattern ends here. */
  readonly end: MatchIndex | undefined;
  /** Rules for all that lies below. */
  readonly below: MatchIndex | undefined;
}

/** A rule as the tree takes it. */
export interface Routed extends Candidate {
  readonly path: PathPattern;
}

function* build(routed: readonly Routed[], depth: number): Sliced<TrieNode> {
  const ends: Routed[] = [];
  const belows: Routed[] = [];
  const parameters: Routed[] = [];
  const literals = new Map<string, Routed[]>();
  for (const [index, rule] of routed.entries()) {
    if (index % 256 === 0) yield;
    const { segments, below } = rule.path;
    const text = segments[depth];
    if (depth === segments.length) (below ? belows : ends).push(rule);
    else if (text === undefined) parameters.push(rule);
    else {
      const there = literals.get(text);
      if (there === undefined) literals.set(text, [rule]);
      else there.push(rule);
    }
  }
  const children = new Map<string, TrieNode>();
  for (const [text, rules] of literals) children.set(text, yield* build(rules, depth + 1));
  return {
    depth,
    literals: children.size === 0 ? undefined : children,
    parameter: parameters.length === 0 ? undefined : yield* build(parameters, depth + 1),
    end: ends.length === 0 ? undefined : yield* buildIndex(ends),
    below: belows.length === 0 ? undefined : yield* buildIndex(belows),
  };
}

/** Builds the tree of all patterns. */
export const buildTrie = (routed: readonly Routed[]): Sliced<TrieNode> => build(routed, 0);

/**
 * Adds the rules of all patterns that match a path. Returns how many places were looked at: each at most once, whatever the path, and none deeper
 * than the longest pattern.
 */
export function walk(trie: TrieNode, segments: readonly string[], found: MatchIndex[]): number {
  const { length } = segments;
  // An empty last segment stands for a slash at the end: it lies below, and is no segment otherwise.
  const whole = length > 0 && segments[length - 1] === '' ? length - 1 : length;
  const open: TrieNode[] = [];
  let visited = 0;
  let node: TrieNode | undefined = trie;
  while (node !== undefined) {
    visited += 1;
    const { depth, end, below }: TrieNode = node;
    if (below !== undefined && (depth < length || depth === 0)) found.push(below);
    if (depth === whole && end !== undefined) found.push(end);
    const literal: TrieNode | undefined = depth < whole ? node.literals?.get(segments[depth] ?? '') : undefined;
    const parameter: TrieNode | undefined = depth < whole ? node.parameter : undefined;
    if (literal !== undefined && parameter !== undefined) open.push(parameter);
    node = literal ?? parameter ?? open.pop();
  }
  return visited;
}
