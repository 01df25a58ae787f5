/** An option's number, at least so large; throws what to write instead. */
export function number(name, text, least) {
  const value = Number(text);
  if (text !== '' && Number.isFinite(value) && value >= least) return value;
  throw new TypeError(`--${name}: expected a number of at least ${least}; got ${JSON.stringify(text)}`);
}
