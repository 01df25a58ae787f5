import type { Soon } from '../at-once.js';

/** Whether it is yet to come. What users' functions answer may be any thenable. */
export function isPending<T>(value: Soon<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === 'function';
}

/** Goes on with a value: in the same turn if it is there. */
export function after<A, B>(value: Soon<A>, on: (value: A) => Soon<B>): Soon<B> {
  return isPending(value) ? value.then(on) : on(value);
}

/** The same of several. */
export function afterAll<A extends readonly unknown[], B>(
  values: { readonly [Index in keyof A]: Soon<A[Index]> },
  on: (values: A) => Soon<B>,
): Soon<B> {
  return values.some(isPending) ? Promise.all(values).then((all) => on(all as unknown as A)) : on(values as unknown as A);
}

/** Carries on where an attempt fails, now or later. */
export function orElse<T>(attempt: () => Soon<T>, otherwise: (error: unknown) => T): Soon<T> {
  try {
    const made = attempt();
    return isPending(made) ? made.then(undefined, otherwise) : made;
  } catch (error) {
    return otherwise(error);
  }
}
export type { Soon };
