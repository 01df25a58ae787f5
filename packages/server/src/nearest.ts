/** How many letters have to be put in, left out or exchanged to make one word the other. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 0; i < a.length; i += 1) {
    const next = [i + 1];
    for (let j = 1; j <= b.length; j += 1) {
      next.push(Math.min((next[j - 1] ?? 0) + 1, (row[j] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** A longer word is no slip of anything. */
const longest = 40;

/** The word that was probably meant: the only one that begins so, or two letters away at most, and no more than half of it. */
export function nearest(given: string, known: readonly string[]): string | undefined {
  const word = given.slice(0, longest);
  const begun = word.length < 2 ? [] : known.filter((name) => name.startsWith(word));
  if (begun.length === 1) return begun[0];
  const [best] = known
    .map((name) => ({ name, far: distance(word, name) }))
    .filter(({ name, far }) => far <= Math.min(2, name.length / 2))
    .sort((a, b) => a.far - b.far);
  return best?.name;
}

/** To be put behind a fault: `; did you mean "rules"?`, or nothing. */
export function didYouMean(given: string, known: readonly string[], show: (name: string) => string = JSON.stringify): string {
  const name = nearest(given, known);
  return name === undefined ? '' : `; did you mean ${show(name)}?`;
}
