/** What was asked cannot be done as asked. The message names the field, what it may be, and the value unless it may be secret. */
export class InputError extends Error {
  override readonly name = 'InputError';
  readonly field: string;
  constructor(field: string, message: string) {
    super(`${field}: ${message}`);
    this.field = field;
  }
}

const shown = (value: unknown): string => {
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? 'undefined');
  return text.length > 100 ? `${typeof value} of ${text.length} characters` : text;
};

/**
 * Text that both databases keep as it is: well-formed, without NUL.
 *
 * @throws InputError
 */
export function checkText(field: string, value: unknown, [least, most]: readonly [number, number]): string {
  if (typeof value === 'string' && value.length >= least && value.length <= most && value.isWellFormed() && !value.includes('\0'))
    return value;
  throw new InputError(field, `expected ${least} to ${most} characters of well-formed text without NUL; got ${shown(value)}`);
}

/** @throws InputError */
export function checkWhole(field: string, value: unknown, [least, most]: readonly [number, number]): number {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return value as number;
  throw new InputError(field, `expected a whole number from ${least} to ${most}; got ${shown(value)}`);
}

/** The latest time that is taken: the end of 9999. */
const latest = 253_402_300_799_999;

/**
 * When something ends, in milliseconds since 1970: undefined or null is never.
 *
 * @throws InputError if it is over already
 */
export function checkUntil(value: number | null | undefined, now: number): number | null {
  if (value === undefined || value === null) return null;
  const until = checkWhole('until', value, [0, latest]);
  if (until <= now)
    throw new InputError('until', `${new Date(until).toISOString()} is over; write a time to come, or leave it out for no end`);
  return until;
}

/** @throws InputError */
export function checkOneOf<T extends string>(field: string, value: unknown, known: readonly T[]): T {
  const found = known.find((one) => one === value);
  if (found === undefined) throw new InputError(field, `expected one of ${known.join(', ')}; got ${shown(value)}`);
  return found;
}

/** What author, token (whose name is the author's), customer or key may be: what an index of PostgreSQL takes (2,700 bytes) with a rule's name beside it. */
export const lengths = { author: [1, 200], token: [1, 200], reason: [0, 1000], key: [1, 512], plan: [1, 128], page: [1, 1000] } as const;
