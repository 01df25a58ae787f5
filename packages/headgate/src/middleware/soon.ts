import type { Soon } from '../at-once.js';

/** Whether it is yet to come. What users' functions answer may be any thenable: only `Promise.resolve` makes something of it that can be built on. */
export function isPending<T>(value: Soon<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === 'function';
}

const later = <A, B, Context>(value: PromiseLike<A>, on: (value: A, context: Context) => Soon<B>, context: Context): PromiseLike<B> =>
  Promise.resolve(value).then((there) => on(there, context));

/**
 * Goes on with a value, in the same turn if it is there. What else is needed is handed on as `context`: a closure would be made for each
 * request, though few of them wait.
 */
export function after<A, B, Context>(value: Soon<A>, on: (value: A, context: Context) => Soon<B>, context: Context): Soon<B> {
  return isPending(value) ? later(value, on, context) : on(value, context);
}

/** Carries on where an attempt fails, now or later. */
export function orElse<A, T>(attempt: (asked: A) => Soon<T>, otherwise: (error: unknown) => T, asked: A): Soon<T> {
  try {
    const made = attempt(asked);
    return isPending(made) ? Promise.resolve(made).catch(otherwise) : made;
  } catch (error) {
    return otherwise(error);
  }
}
export type { Soon };
