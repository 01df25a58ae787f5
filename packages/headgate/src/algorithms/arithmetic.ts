/** The largest integer that a double and a Redis Lua number both hold exactly, with all below it. */
const exact = Number.MAX_SAFE_INTEGER;

/** floor(r x b / c) and its remainder for r < c, digit by digit in base 8, so that no step leaves 2^53 (c up to 6e14). */
function longDivision(r: number, b: number, c: number): { quotient: number; remainder: number } {
  let scale = 1;
  while (scale * 8 <= b) scale *= 8;
  let quotient = 0;
  let remainder = 0;
  let rest = b;
  for (; scale >= 1; scale /= 8) {
    const digit = Math.floor(rest / scale);
    rest -= digit * scale;
    const x = remainder * 8 + r * digit;
    const part = Math.floor(x / c);
    quotient = quotient * 8 + part;
    remainder = x - part * c;
  }
  return { quotient, remainder };
}

/** floor(a x b / c) and its remainder, where the product is above 2^53. */
function divide(a: number, b: number, c: number): { quotient: number; remainder: number } {
  const whole = Math.floor(a / c);
  const { quotient, remainder } = longDivision(a - whole * c, b, c);
  return { quotient: whole * b + quotient, remainder };
}

/**
 * floor(a x b / c), exactly, where the product may be far above 2^53. Whole numbers of 0 or more; c from 1 to 6e14; the
 * result below 2^53.
 */
export function mulDivFloor(a: number, b: number, c: number): number {
  const product = a * b;
  return product <= exact ? Math.floor(product / c) : divide(a, b, c).quotient;
}

/** ceil(a x b / c), exactly; the ranges of {@link mulDivFloor}. */
export function mulDivCeil(a: number, b: number, c: number): number {
  const product = a * b;
  if (product <= exact) {
    const floor = Math.floor(product / c);
    return floor * c < product ? floor + 1 : floor;
  }
  const { quotient, remainder } = divide(a, b, c);
  return remainder > 0 ? quotient + 1 : quotient;
}
