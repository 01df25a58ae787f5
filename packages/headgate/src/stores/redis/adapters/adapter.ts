/** How Headgate talks to one Redis deployment through the user's own client. */
export interface RedisAdapter {
  /** 'cluster': every call's keys must be on one slot. */
  readonly topology: 'single' | 'cluster';
  /** 'connecting' until first ready or first failure; 'down' = would fail at once. */
  state(): 'connecting' | 'ready' | 'down';
  /** Calls back once when state() leaves 'connecting'. */
  onceSettled(callback: () => void): void;
  /**
   * Sends one command, e.g. ['EVALSHA', sha, '1', key, arg]. `key` routes in a cluster, and is among the command's own
   * keys if it has any. Never re-sent after it may have reached the server (MOVED/ASK redirects excepted: nothing was
   * executed then). Rejects with the server's error, message kept (NOSCRIPT..., WRONGTYPE...).
   */
  send(command: string, args: readonly string[], key: string): Promise<unknown>;
  /** Closes the duplicate, never the user's own client. */
  close(): Promise<void>;
}

/** A command that was not sent: there is no connection. */
export class NotSentError extends Error {}

// What ioredis and node-redis say where they keep no queue for later.
const keptNothing = /enableOfflineQueue options is false|client is offline/i;

/** Whether an error means that a command never left this process. */
export const wasNotSent = (error: unknown): boolean =>
  error instanceof NotSentError || (error instanceof Error && keptNothing.test(error.message));

export const noop = (): void => undefined;

/** Milliseconds before the next attempt to connect: a Redis that comes back is in use again well within a second. */
export function retryDelay(attempt: number): number {
  // Each attempt costs ioredis about a millisecond, which the checks of other shards wait for. Jitter, or a fleet that lost one Redis comes back to it in the same millisecond.
  return Math.round(Math.min(50 * 2 ** Math.min(attempt, 4), 500) * (0.75 + Math.random() / 2));
}

/** Remembers the first ready or first failure, and whom to tell. */
export interface Settling {
  settled(): boolean;
  settle(): void;
  onceSettled(callback: () => void): void;
}

/** Makes a {@link Settling}. */
export function settling(): Settling {
  let done = false;
  let waiting: (() => void)[] = [];
  return {
    settled: () => done,
    settle: () => {
      if (done) return;
      done = true;
      const callbacks = waiting;
      waiting = [];
      for (const callback of callbacks) callback();
    },
    onceSettled: (callback) => {
      if (done) queueMicrotask(callback);
      else waiting.push(callback);
    },
  };
}

/** True if every name is a method of `client`. A client is known by what it can do: bundlers and forks rename classes. */
export function can(client: object, ...methods: string[]): boolean {
  return methods.every((name) => typeof (client as Record<string, unknown>)[name] === 'function');
}
