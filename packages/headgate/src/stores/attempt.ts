import { StoreError } from '../errors.js';

/** Calls what should reject, but may throw: a store of somebody's own, or a client. */
export function attempt<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call();
  } catch (cause) {
    return Promise.reject(new StoreError('the store threw', { cause }));
  }
}
