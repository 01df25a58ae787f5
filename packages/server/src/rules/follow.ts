import type { Changes } from './changes.js';
import { backoff, between, type Timing } from './timing.js';

/** Between looks where nothing tells of a change, in milliseconds. */
const lookEveryMs = [30_000, 60_000] as const;

/** After a notice servers wait for up to so long, in milliseconds: all of them have it at once, and the database is one. */
const spreadMs = 200;

/** Where reading takes long, most of the time is not spent on it: so many times as long is waited, up to a bound in milliseconds. */
const restTimes = 4;
const longestRestMs = 5_000;

/** Between attempts while the database is away, in milliseconds: from the first to the longest. */
const attemptsMs = [500, 30_000] as const;

/** Something in a database that moves an edition whenever it changes. */
export interface Followed {
  /** Cheap. */
  edition(): Promise<string | number>;
  /** Reads all of it, and uses it. */
  read(): Promise<void>;
}

export interface Following {
  readonly changes: Changes;
  readonly timing: Timing;
  /** The edition that was read last; undefined: none. */
  readonly known: string | number | undefined;
  /** Whether the database could be asked when it was, at every look; an error if not. */
  readonly onLook: (error: Error | undefined) => void;
}

/** Reads again whenever there is another edition, at once where the database tells of it; never twice at a time. The function returned ends it. */
export function follow(followed: Followed, { changes, timing, known, onLook }: Following): () => void {
  const pauses = backoff(timing, attemptsMs);
  let last = known;
  let isLooking = false;
  let isWoken = false;
  let isStopped = false;
  let restMs = 0;
  let cancel: () => void = () => undefined;

  function lookIn(ms: number): void {
    cancel();
    if (!isStopped) cancel = timing.after(ms, () => void look());
  }
  const lookSoon = (): void => lookIn(between(timing, [0, spreadMs]) + restMs);

  /** Answers in how many milliseconds to look again. */
  async function lookOnce(): Promise<number> {
    try {
      const edition = await followed.edition();
      if (edition !== last && !isStopped) {
        const since = timing.now();
        await followed.read();
        restMs = Math.min(longestRestMs, restTimes * Math.max(0, timing.now() - since));
        // As it was before reading: what came between is another edition.
        last = edition;
      }
      pauses.reset();
      if (!isStopped) onLook(undefined);
      return between(timing, lookEveryMs);
    } catch (error) {
      if (!isStopped) onLook(error as Error);
      return pauses.next();
    }
  }

  async function look(): Promise<void> {
    isLooking = true;
    isWoken = false;
    const nextMs = await lookOnce();
    isLooking = false;
    if (isWoken) lookSoon();
    else lookIn(nextMs);
  }

  const unwatch = changes.watch((missed) => {
    if (missed) last = undefined;
    if (isWoken) return;
    isWoken = true;
    if (!isLooking) lookSoon();
  });
  // What changed since it was read last, in case nothing tells of it.
  if (!isWoken) lookSoon();
  return () => {
    isStopped = true;
    unwatch();
    cancel();
  };
}
