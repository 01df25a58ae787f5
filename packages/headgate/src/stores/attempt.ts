import { StoreError } from '../errors.js';
import type { Asking, Group, Store } from './store.js';

/** Calls what should reject, but may throw: a store of somebody's own, or a client. */
export function attempt<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call();
  } catch (cause) {
    return Promise.reject(new StoreError('the store threw', { cause }));
  }
}

/** Asks by `decide`, where a store or a group has no shorter way. */
export function askByPromise(decide: Store['decide'], group: Group, call: Asking): void {
  attempt(() => decide(group, call)).then(
    (answer) => call.answered(answer),
    (error: unknown) => call.failed(error),
  );
}
