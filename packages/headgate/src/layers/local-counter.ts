import type { Clock } from '../clock.js';
import type { Check, GroupOutcome, LoneOutcome, Outcome, Store, Target } from '../stores/store.js';

/** Decides checks of one mode in this process. */
export interface LocalCounter {
  /** Decides here and now; undefined, and nothing changed, if the store has to be asked. */
  take(check: Check, now: number): LoneOutcome | undefined;
  /** What a check was taken from, to put it back into. */
  holderOf(check: Check): object | undefined;
  /** What was taken from a holder is not wanted, as another check of its group refused. */
  putBack(holder: object, outcome: Outcome, now: number): void;
  /**
   * Resolves when it is worth while to `take` again; rejects if the store does not answer. Undefined: the store is to decide this check
   * itself. `since`: when its caller began to wait, by `performance.now()`.
   */
  wait(check: Check, now: number, since: number): Promise<void> | undefined;
  /** The store is about to decide a check itself; to be called back when it has. */
  asking?(check: Check, now: number): () => void;
  /** Told what the store decided for a check itself, and when it was asked, by the process's clock. */
  told(check: Check, answer: GroupOutcome, askedAt: number): void;
  /** Before the store does something to a key's budget: it is to know all that was counted here. */
  flush(target: Pick<Target, 'rule' | 'key'>): Promise<void>;
  /** The key's budget is another from now on: what is in hand counts for nothing. */
  forget(target: Pick<Target, 'rule' | 'key'>): void;
  close(): Promise<void>;
}

export interface CounterOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Keys counted at once. */
  readonly max: number;
  /** Units that stay taken, as giving them back failed. */
  readonly onLost: () => void;
}
