import type { Sliced } from './slices.js';

/** What a rule may ask of a request beside its path. */
export type Dimension = 'method' | 'host' | 'header' | 'plan';

/** A request passes if it has any of these keys. */
export interface Condition {
  readonly dimension: Dimension;
  readonly keys: ReadonlySet<string>;
  /** The same for the same dimension and keys. */
  readonly id: string;
}

/** A request's keys, each once. */
export type Facts = Readonly<Record<Dimension, readonly string[]>>;

/** A rule, by its place in the file, and what is still to be asked for it. */
export interface Candidate {
  readonly order: number;
  readonly conditions: readonly Condition[];
}

/**
 * Rules of one path, told apart by one dimension after the other. Each rule is in one place only, and a request goes where its keys lead: what
 * it costs is near to the number of rules that match, not of those that are there.
 */
export interface MatchIndex {
  /** Few rules: each is asked for what is left of its conditions. */
  readonly candidates: readonly Candidate[];
  readonly split: Split | undefined;
}

interface Split {
  readonly dimension: Dimension;
  readonly byKey: ReadonlyMap<string, readonly MatchIndex[]>;
  /** The rules that do not ask. */
  readonly rest: MatchIndex | undefined;
}

/** So few are asked one after the other: a further map would cost as much. */
const few = 4;

const dimensions: readonly Dimension[] = ['host', 'header', 'plan', 'method'];

function countKeys(conditions: readonly Condition[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { keys } of conditions) for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

const most = (counts: Iterable<number>): number => {
  let found = 0;
  for (const count of counts) if (count > found) found = count;
  return found;
};

/** For each rule its condition of the dimension; of several (of header fields) the one that fewest others share. */
function chosen(candidates: readonly Candidate[], dimension: Dimension): (Condition | undefined)[] {
  const own = candidates.map(({ conditions }) => conditions.filter((condition) => condition.dimension === dimension));
  const counts = countKeys(own.flat());
  const shared = ({ keys }: Condition): number => most([...keys].map((key) => counts.get(key) ?? 0));
  return own.map((conditions) =>
    conditions.length < 2 ? conditions[0] : conditions.reduce((best, condition) => (shared(condition) < shared(best) ? condition : best)),
  );
}

interface Choice {
  readonly dimension: Dimension;
  readonly conditions: readonly (Condition | undefined)[];
}

/** The dimension after which the fewest rules are left in the worst case. */
function* bestChoice(candidates: readonly Candidate[]): Sliced<Choice | undefined> {
  let best: (Choice & { readonly left: number }) | undefined;
  for (const dimension of dimensions) {
    yield;
    const conditions = chosen(candidates, dimension);
    const asking = conditions.filter((condition) => condition !== undefined);
    if (asking.length === 0) continue;
    const left = conditions.length - asking.length + most(countKeys(asking).values());
    if (best === undefined || left < best.left) best = { dimension, conditions, left };
  }
  return best;
}

/** Builds the index of rules in time near to their number. */
export function* buildIndex(candidates: readonly Candidate[]): Sliced<MatchIndex> {
  yield;
  const choice = candidates.length <= few ? undefined : yield* bestChoice(candidates);
  if (choice === undefined) return { candidates, split: undefined };
  const groups = new Map<string, { condition: Condition; members: Candidate[] }>();
  const rest: Candidate[] = [];
  for (const [index, candidate] of candidates.entries()) {
    if (index % 256 === 0) yield;
    const condition = choice.conditions[index];
    if (condition === undefined) {
      rest.push(candidate);
      continue;
    }
    const group = groups.get(condition.id) ?? { condition, members: [] };
    groups.set(condition.id, group);
    group.members.push({ order: candidate.order, conditions: candidate.conditions.filter((other) => other !== condition) });
  }
  const byKey = new Map<string, MatchIndex[]>();
  for (const { condition, members } of groups.values()) {
    const inner = yield* buildIndex(members);
    for (const key of condition.keys) {
      const there = byKey.get(key);
      if (there === undefined) byKey.set(key, [inner]);
      else there.push(inner);
    }
  }
  return { candidates: [], split: { dimension: choice.dimension, byKey, rest: rest.length === 0 ? undefined : yield* buildIndex(rest) } };
}

function passes({ dimension, keys }: Condition, facts: Facts): boolean {
  for (const key of facts[dimension]) if (keys.has(key)) return true;
  return false;
}

function passesAll(conditions: readonly Condition[], facts: Facts): boolean {
  for (const condition of conditions) if (!passes(condition, facts)) return false;
  return true;
}

/** Those that any of several keys leads to, each once. */
function reached(byKey: Split['byKey'], keys: readonly string[]): Iterable<MatchIndex> | undefined {
  let first: readonly MatchIndex[] | undefined;
  let all: Set<MatchIndex> | undefined;
  for (const key of keys) {
    const inners = byKey.get(key);
    if (inners === undefined) continue;
    if (first === undefined) first = inners;
    else {
      all ??= new Set(first);
      for (const inner of inners) all.add(inner);
    }
  }
  return all ?? first;
}

/** Adds the places of all rules that a request passes, in no order. */
export function collect(index: MatchIndex, facts: Facts, found: number[]): void {
  for (const { order, conditions } of index.candidates) if (passesAll(conditions, facts)) found.push(order);
  const { split } = index;
  if (split === undefined) return;
  const inners = reached(split.byKey, facts[split.dimension]);
  if (inners !== undefined) for (const inner of inners) collect(inner, facts, found);
  if (split.rest !== undefined) collect(split.rest, facts, found);
}
