import { createHash } from 'node:crypto';
import type { Changes } from './changes.js';
import { openFirst, type Copied, type Opening } from './copy-opening.js';
import type { DiskCopy, Versioned } from './disk-copy.js';
import { RulesError } from './faults.js';
import { follow } from './follow.js';
import type { Timing } from './timing.js';

export interface CopyOptions {
  readonly changes: Changes;
  readonly timing: Timing;
  /** Where it is kept for a restart without the database. */
  readonly disk: DiskCopy | undefined;
}

export interface CopyWatch<T> {
  /** A promise that it answers is waited for: until then the one before is in force. */
  readonly onValue: (value: T) => unknown;
  /** Once for each faulty content of the database; what is in force stays. */
  readonly onFault: (error: RulesError) => void;
  /** Once when the database cannot be used any more (why), and once when it can again (undefined). What is in force stays. */
  readonly onReach?: ((error: Error | undefined) => void) | undefined;
  /** Once when the copy on disk cannot be written any more. */
  readonly onDiskFault?: ((error: Error) => void) | undefined;
}

/** What is in force, and where it comes from. */
export interface CopyState {
  readonly version: string | number;
  /** Where it was read, or found to be the same. */
  readonly from: 'database' | 'disk';
  /** Whether the database could be used when it was last asked. */
  readonly isReachable: boolean;
  /**
   * When it was read or found to be the same last, in milliseconds since 1970; of a copy on disk when that was written. Undefined: what is in
   * force was never stored.
   */
  readonly confirmed: number | undefined;
}

export interface Copy<T> {
  /** As it was when it was opened. */
  readonly value: T;
  state(): CopyState;
  /** Reads again when it changes; what was wrong at opening is told first. The function returned ends it. To be called once. */
  watch(on: CopyWatch<T>): () => void;
}

const printOf = ({ text }: Versioned): string => createHash('sha256').update(text).digest('base64');

/** Keeps the last on disk. */
function keeper(disk: DiskCopy | undefined, onDiskFault: CopyWatch<unknown>['onDiskFault']): (copy: Versioned) => void {
  let isFailing = false;
  return ({ version, text }) => {
    disk?.save({ version, text }).then(
      () => (isFailing = false),
      (error: unknown) => {
        if (!isFailing) onDiskFault?.(error as Error);
        isFailing = true;
      },
    );
  };
}

/**
 * Opens a copy: from the database; from disk if that is away, or if what it holds has faults.
 *
 * @throws RulesError if it has faults, or what the database threw, if there is no copy on disk to start from
 */
export async function openCopy<T>(copied: Copied<T>, { changes, timing, disk }: CopyOptions): Promise<Copy<T>> {
  let opening: Opening<T> | undefined = await openFirst(copied, disk);
  const { value, edition, snapshot, from, away, faulty, written } = opening;
  const confirmed = from === 'database' ? timing.now() : written;
  let state: CopyState = { version: snapshot.version, from, isReachable: away === undefined, confirmed };
  let current = value;
  let inForce = printOf(snapshot);
  let refused = faulty && printOf(faulty.snapshot);

  function watch({ onValue, onFault, onReach, onDiskFault }: CopyWatch<T>): () => void {
    const keep = keeper(disk, onDiskFault);
    let isStopped = false;

    async function read(): Promise<void> {
      const next = await copied.read();
      const print = printOf(next);
      if (print === refused) return;
      refused = undefined;
      if (print !== inForce) {
        let made: T;
        try {
          made = await next.make(current);
        } catch (error) {
          if (!(error instanceof RulesError)) throw error;
          refused = print;
          onFault(error);
          return;
        }
        if (isStopped) return;
        keep(next);
        await onValue(made);
        current = made;
        inForce = print;
      }
      state = { ...state, version: next.version };
    }

    function onLook(error: Error | undefined): void {
      const isReachable = error === undefined;
      if (isReachable !== state.isReachable) onReach?.(error);
      state = { ...state, isReachable };
      // Unless it has faults, what the database holds is what is in force.
      if (isReachable && refused === undefined) state = { ...state, from: 'database', confirmed: timing.now() };
    }

    if (opening?.faulty) onFault(opening.faulty.error);
    if (opening?.away) onReach?.(opening.away);
    if (opening?.from === 'database') keep(opening.snapshot);
    // What it holds is large, and not needed any more.
    opening = undefined;
    const stop = follow({ edition: copied.edition, read }, { changes, timing, known: edition, onLook });
    return () => {
      isStopped = true;
      stop();
    };
  }

  return { value, state: () => state, watch };
}
