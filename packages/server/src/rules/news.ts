/** Answers what was not there the last time: a warning is told when it is new, not with every change. */
export function news(): (texts: readonly string[]) => string[] {
  let known: ReadonlySet<string> = new Set();
  return (texts) => {
    const now = new Set(texts);
    const fresh = [...now].filter((text) => !known.has(text));
    known = now;
    return fresh;
  };
}
