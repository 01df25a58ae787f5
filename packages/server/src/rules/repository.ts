/** What is in a set of rules: rules by their names, and the other blocks of a rules file, such as `identify`, by theirs. */
export interface Parts {
  /** What a rules file says of a rule, without its name. */
  readonly rules: ReadonlyMap<string, unknown>;
  readonly blocks: ReadonlyMap<string, unknown>;
}

/** A set as it was stored. Of the current one `edition` also moves when somebody writes by hand. */
export interface StoredSet extends Parts {
  /** 0: nothing was ever stored. */
  readonly version: number;
  readonly edition: number;
}

/** One entry that differs. */
export interface Difference {
  readonly kind: 'rule' | 'block';
  readonly name: string;
  /** Undefined: it was not there. */
  readonly before: unknown;
  /** Undefined: it is not there. */
  readonly after: unknown;
}

/** What a version did to an entry. */
export interface Touched {
  readonly kind: Difference['kind'];
  readonly name: string;
  readonly did: 'added' | 'changed' | 'removed';
}

export interface Version {
  readonly number: number;
  readonly author: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly reason: string;
  readonly kind: 'change' | 'rollback' | 'import';
  /** The version that a rollback brought back. */
  readonly restores?: number;
  /** The first 20 that it touched, by kind and name; `diff(number - 1, number)` tells all. */
  readonly touched: readonly Touched[];
  /** How many it touched. */
  readonly count: number;
}

/** Who changes what they saw, and why. */
export interface Edit {
  /** The version that the author saw. It must still be the current one. */
  readonly base: number;
  /** 1 to 200 characters. */
  readonly author: string;
  /** At most 1000 characters. */
  readonly reason: string;
}

export interface Change extends Edit {
  /** Rules to add or replace, by name: what a rules file says of one, without its name. */
  readonly put?: Readonly<Record<string, unknown>>;
  /** Names of rules to remove. One that is not there is an InputError. */
  readonly remove?: readonly string[];
  /** Other blocks of a rules file to set, by name: `{ identify: { trustProxies: 1 } }`; null removes one. */
  readonly blocks?: Readonly<Record<string, unknown>>;
}

export interface Written {
  /** The version in force now; the base if nothing differed, and then nothing was written. */
  readonly version: number;
  readonly differences: readonly Difference[];
  /** Things that are allowed but may not be meant, of the whole set. */
  readonly warnings: readonly string[];
}

export interface HistoryPage {
  /** 1 to 200. */
  readonly limit: number;
  /** Only older ones than this version. */
  readonly before?: number;
  /** Only those that touched the rule of this name. */
  readonly rule?: string;
}

/**
 * Rules with all their versions. Names order them, byte by byte: the order of rules decides nothing.
 *
 * Every write MUST be one transaction: the version, its entries and an audit row, or nothing. It MUST be refused unless its base is the
 * current version, and unless the whole set that it makes compiles. Twenty may write at once: one of those with the same base wins.
 *
 * @throws DatabaseError, from each, if the database cannot be used; nothing was written, unless the connection was lost in the very moment
 * of committing: then `current()` tells
 */
export interface RulesRepository {
  /** A number that moves with every write, also by hand; cheap. */
  edition(): Promise<number>;
  current(): Promise<StoredSet>;
  /** @throws NoVersionError */
  at(version: number): Promise<StoredSet>;
  /** The newest first. */
  history(page: HistoryPage): Promise<Version[]>;
  /**
   * What became of `from` to be `to`, by kind and name; either may be the newer.
   *
   * @throws NoVersionError
   */
  diff(from: number, to: number): Promise<Difference[]>;
  /** @throws ConflictError, RulesError with all faults of the whole set, InputError, NoVersionError */
  change(change: Change): Promise<Written>;
  /**
   * A new version with what was in force at version `to`.
   *
   * @throws as change; also RulesError where this Headgate would no longer take that set
   */
  rollback(edit: Edit & { readonly to: number }): Promise<Written>;
  /**
   * A new version with exactly what a rules file says (its value, as YAML or JSON make it).
   *
   * @throws as change
   */
  importAll(edit: Edit & { readonly file: unknown }): Promise<Written>;
}

/** What a version did, in words. */
export const touchedText = ({ touched, count }: Version): string => {
  const names = touched.map(({ did, kind, name }) => `${did} ${kind} ${JSON.stringify(name)}`).join(', ');
  return count > touched.length ? `${names} and ${count - touched.length} more` : names;
};

/** A version in one line: `12 by ann: changed rule "search" ("too many bots")`. */
export const showVersion = (version: Version): string =>
  `${version.number} by ${version.author}: ${touchedText(version)}${version.reason === '' ? '' : ` (${JSON.stringify(version.reason)})`}`;

/** Somebody else changed the rules since the base of an edit. Nothing was written. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError';
  readonly base: number;
  readonly current: number;
  /** Who did what since, the newest first; at most 20. */
  readonly since: readonly Version[];
  constructor({ base, current, since }: { base: number; current: number; since: readonly Version[] }) {
    const told = since.map(showVersion).join('\n  ');
    super(
      `the rules are at version ${current}, no longer at ${base}; look at them again and repeat what is still to be done. Since:\n  ${told}`,
    );
    this.base = base;
    this.current = current;
    this.since = since;
  }
}

/** There is no such version. */
export class NoVersionError extends Error {
  override readonly name = 'NoVersionError';
  constructor(asked: unknown, current: number) {
    super(`there is no version ${JSON.stringify(asked) ?? 'undefined'}; versions are whole numbers from 0 to ${current}, the current one`);
  }
}
