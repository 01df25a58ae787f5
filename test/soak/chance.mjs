/** A whole number from 0 to below `count`. */
export const below = (count) => Math.floor(Math.random() * count);

export const pick = (list) => list[below(list.length)];

/** Whether something happens that happens so often in a hundred. */
export const percent = (share) => Math.random() * 100 < share;

/** Picks among `[share, item]` pairs, as often as their shares say. */
export function weighted(pairs) {
  const total = pairs.reduce((sum, [share]) => sum + share, 0);
  return () => {
    let left = Math.random() * total;
    return (pairs.find(([share]) => (left -= share) < 0) ?? pairs[0])[1];
  };
}
