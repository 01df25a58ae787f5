import { watch } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Between looks, in milliseconds: a change is noticed within a second even where the system sends no events. */
const lookEveryMs = 400;

/** What changed is read again after so many milliseconds, until it stays: editors and `cp` write in steps. */
const settleMs = 30;
const mostReads = 5;

export interface Settling<T> {
  readonly read: () => Promise<T>;
  readonly isSame: (a: T, b: T) => boolean;
  /** What was read last: while it is the same, one reading is enough. */
  readonly before: T;
}

/** Reads until two readings agree. */
export async function readSettled<T>({ read, isSame, before }: Settling<T>): Promise<T> {
  let content = await read();
  for (let reads = 1; reads < mostReads && !isSame(content, before); reads += 1) {
    await sleep(settleMs, undefined, { ref: false });
    const next = await read();
    if (isSame(content, next)) return content;
    content = next;
  }
  return content;
}

/** Looks at files again and again, sooner where the system tells of a change in their folders; the function returned stops it. */
function keepLooking(files: readonly (string | undefined)[], look: () => void): () => void {
  const timer = setInterval(look, lookEveryMs);
  timer.unref();
  const watchers = [...new Set(files.flatMap((file) => (file === undefined ? [] : [dirname(file)])))].flatMap((folder) => {
    try {
      const watcher = watch(folder, { persistent: false }, look);
      watcher.on('error', () => watcher.close());
      return [watcher];
    } catch {
      // The looks suffice.
      return [];
    }
  });
  return () => {
    clearInterval(timer);
    for (const watcher of watchers) watcher.close();
  };
}

export interface Following<T> extends Omit<Settling<T>, 'before'> {
  readonly files: readonly (string | undefined)[];
  /** What was read before. */
  readonly known: T;
  /** Other content; a promise that it answers is waited for before the files are looked at again. */
  readonly onChange: (content: T) => unknown;
  /** Each look, after what it brought. */
  readonly onLook?: (content: T) => void;
}

/** Follows what files hold, one look at a time; the function returned stops it. */
export function followFiles<T>({ files, read, isSame, known, onChange, onLook }: Following<T>): () => void {
  let last = known;
  let [looking, again, stopped] = [false, false, false];

  async function look(): Promise<void> {
    again = looking;
    if (looking || stopped) return;
    looking = true;
    const content = await readSettled({ read, isSame, before: last });
    if (!stopped && !isSame(content, last)) {
      last = content;
      await onChange(content);
    }
    if (!stopped) onLook?.(content);
    looking = false;
    if (again) void look();
  }

  const stopLooking = keepLooking(files, () => void look());
  void look();
  return () => {
    stopped = true;
    stopLooking();
  };
}
