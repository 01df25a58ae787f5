import { headerKey } from './match-facts.js';
import { hostKey } from './match-host.js';
import type { Condition, Dimension } from './match-index.js';
import { anyPath, compilePath, type PathPattern } from './match-path.js';

type OneOrSeveral = string | readonly string[];

/** What a rule's `match` says, well formed by its schema. */
export interface MatchEntry {
  readonly method?: OneOrSeveral | undefined;
  readonly path?: string | undefined;
  readonly host?: OneOrSeveral | undefined;
  readonly header?: Readonly<Record<string, OneOrSeveral>> | undefined;
  readonly plan?: OneOrSeveral | undefined;
}

/** Which requests a rule is for: those on its path that pass all conditions. */
export interface Match {
  readonly path: PathPattern;
  readonly conditions: readonly Condition[];
  /** The same for rules that match the same requests, as far as they say so in the same way. */
  readonly id: string;
}

function condition(dimension: Dimension, keys: readonly string[]): Condition {
  const set = new Set(keys);
  return { dimension, keys: set, id: JSON.stringify([dimension, ...[...set].sort()]) };
}

const list = (value: OneOrSeveral): readonly string[] => (typeof value === 'string' ? [value] : value);

/** `GET` covers `HEAD`, which asks for the same work. */
function methodKeys(value: OneOrSeveral): string[] {
  const methods = list(value).map((name) => name.toUpperCase());
  return methods.includes('GET') ? [...methods, 'HEAD'] : methods;
}

function fieldCondition([name, value]: readonly [string, OneOrSeveral]): Condition {
  const field = name.toLowerCase();
  return condition('header', value === '*' ? [headerKey(field)] : list(value).map((text) => headerKey(field, text)));
}

/**
 * Compiles a match. `/foo/*` matches everything below `/foo/`, not `/foo` nor `/foobar`, and `/*` everything; `:name` matches one
 * segment; a slash at the end of a path does not matter. What is left out matches any; of what is there, all has to match.
 *
 * @throws Error if the path is no pattern
 */
export function compileMatch({ method, path, host, header, plan }: MatchEntry): Match {
  const conditions = [
    ...(method === undefined ? [] : [condition('method', methodKeys(method))]),
    ...(host === undefined ? [] : [condition('host', list(host).map(hostKey))]),
    ...Object.entries(header ?? {}).map(fieldCondition),
    ...(plan === undefined ? [] : [condition('plan', list(plan))]),
  ];
  const pattern = path === undefined ? anyPath : compilePath(path);
  const id = JSON.stringify([pattern.below, pattern.segments, conditions.map((each) => each.id).sort()]);
  return { path: pattern, conditions, id };
}
