// What a sample says, as plain numbers by name: of all processes together.

/** Numbers in objects within objects, by the names on the way to them. */
function* flat(value, path = []) {
  if (typeof value === 'number') yield [path.join(' '), value];
  else for (const [name, inner] of Object.entries(value)) yield* flat(inner, [...path, name]);
}

/** Adds up, name by name. */
export function summed(objects) {
  const sums = new Map();
  for (const object of objects) for (const [name, value] of flat(object)) sums.set(name, (sums.get(name) ?? 0) + value);
  return sums;
}

export const gaugesOf = ({ processes, redis }) => summed([...processes.map(({ figures }) => figures), { redis }]);
