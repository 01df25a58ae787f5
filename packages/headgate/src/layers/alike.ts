import type { CountedLimit } from '../limit.js';

const texts = new WeakMap<CountedLimit, string>();

function textOf(limit: CountedLimit): string {
  let text = texts.get(limit);
  if (text === undefined) {
    text = JSON.stringify(limit);
    texts.set(limit, text);
  }
  return text;
}

/** Whether two limits have the same numbers: rules that are loaded again are made of new values. */
export const isAlike = (a: CountedLimit, b: CountedLimit): boolean => a === b || textOf(a) === textOf(b);
