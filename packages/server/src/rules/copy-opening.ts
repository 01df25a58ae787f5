import type { DiskCopy, Versioned } from './disk-copy.js';
import { RulesError } from './faults.js';

/** What was read, as a text that can be kept, and as what is used. */
export interface Snapshot<T> extends Versioned {
  /**
   * Whatever takes long is done in slices.
   *
   * @param before - what is in force: of that, what did not change need not be made again
   * @throws RulesError if it has faults
   */
  make(before?: T): Promise<T>;
}

/** Something in the database, of which each server keeps a copy. */
export interface Copied<T> {
  /** Cheap; moves with every change, also by hand. */
  edition(): Promise<string | number>;
  read(): Promise<Snapshot<T>>;
  /** The same from its text. @throws Error if it is none */
  parse(copy: Versioned): Snapshot<T>;
  /** What to begin with where there is neither; without it that is an error. */
  readonly otherwise?: Snapshot<T>;
}

/** What a copy begins with. */
export interface Opening<T> {
  readonly value: T;
  readonly snapshot: Snapshot<T>;
  readonly from: 'database' | 'disk';
  /** The edition that need not be read again; undefined: none was read. */
  readonly edition: string | number | undefined;
  /** What the database holds, if that has faults, and which. */
  readonly faulty: { readonly snapshot: Versioned; readonly error: RulesError } | undefined;
  /** Why the database cannot be used, if so. */
  readonly away: Error | undefined;
  /** When a copy on disk was written, in milliseconds since 1970. */
  readonly written: number | undefined;
}

interface Usable<T> {
  readonly snapshot: Snapshot<T>;
  readonly value: T;
  readonly written?: number;
}

async function fromDisk<T>(disk: DiskCopy | undefined, parse: Copied<T>['parse']): Promise<Usable<T> | { readonly problem: string }> {
  if (disk === undefined) return { problem: 'no copy is kept on disk' };
  const loaded = await disk.load();
  if ('problem' in loaded) return loaded;
  try {
    const snapshot = parse(loaded);
    return { snapshot, value: await snapshot.make(), written: loaded.written };
  } catch (error) {
    return { problem: `the copy ${disk.file} cannot be used: ${(error as Error).message}` };
  }
}

async function fromDatabase<T>({
  edition: editionOf,
  read,
}: Copied<T>): Promise<{ edition: string | number; snapshot: Snapshot<T> } | Error> {
  try {
    // Before what is read: what comes between is another edition.
    const edition = await editionOf();
    return { edition, snapshot: await read() };
  } catch (error) {
    return error as Error;
  }
}

/**
 * What to begin with: what the database holds; what the disk holds if that is away or has faults.
 *
 * @throws RulesError, or what the database threw, with why the disk is no help
 */
export async function openFirst<T>(copied: Copied<T>, disk: DiskCopy | undefined): Promise<Opening<T>> {
  const read = await fromDatabase(copied);
  let error: Error;
  if (read instanceof Error) error = read;
  else {
    try {
      return { value: await read.snapshot.make(), ...read, from: 'database', faulty: undefined, away: undefined, written: undefined };
    } catch (fault) {
      error = fault as Error;
    }
  }
  const { otherwise } = copied;
  const kept = await fromDisk(disk, copied.parse);
  const usable: Awaited<ReturnType<typeof fromDisk<T>>> =
    'problem' in kept && otherwise !== undefined ? { snapshot: otherwise, value: await otherwise.make() } : kept;
  if (!('problem' in usable)) {
    const begun = { written: undefined, ...usable, from: 'disk' as const };
    if (error instanceof RulesError && !(read instanceof Error))
      return { ...begun, edition: read.edition, faulty: { snapshot: read.snapshot, error }, away: undefined };
    return { ...begun, edition: undefined, faulty: undefined, away: error };
  }
  if (!(error instanceof RulesError)) error.message += `\nAnd ${usable.problem}: there is nothing to start with.`;
  throw error;
}
