import { setImmediate as turn } from 'node:timers/promises';

/** Work that may be interrupted wherever it yields. It yields often: what is done between two is a fraction of a millisecond. */
export type Sliced<T> = Generator<undefined, T, undefined>;

/** So long it goes on before others have their turn, in milliseconds: decisions have ten. */
const sliceMs = 3;

/** All of it at once, where nobody waits. */
export function atOnce<T>(work: Sliced<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Gives the event loop back in between: one change of many rules must not make decisions late. */
export async function inSlices<T>(work: Sliced<T>): Promise<T> {
  let until = performance.now() + sliceMs;
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (performance.now() < until) continue;
    await turn();
    until = performance.now() + sliceMs;
  }
}

/** Lets others have their turn, between steps that are not sliced themselves. */
export const breathe = (): Promise<void> => turn();
