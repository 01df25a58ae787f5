/** A state that is a number and a time, as the scripts pack it: the time first, then the number in 5 bytes or, where they are too few, 7. */
export function packPair({ number, time }: Pair): Buffer {
  const wide = number >= 2 ** 40;
  const state = Buffer.alloc(wide ? 14 : 12);
  // Node writes at most 6 bytes at once.
  state.writeUIntBE(Math.floor(time / 2 ** 16), 0, 5);
  state.writeUIntBE(time % 2 ** 16, 5, 2);
  if (wide) state.writeUIntBE(Math.floor(number / 2 ** 16), 7, 5);
  state.writeUIntBE(wide ? number % 2 ** 16 : number, wide ? 12 : 7, wide ? 2 : 5);
  return state;
}

/** Of a bucket, when it was reckoned and the millionths used; of a window, its end and the count. */
export interface Pair {
  readonly number: number;
  readonly time: number;
}

export const wholeAt = (state: Buffer, from: number, to: number): number =>
  state.subarray(from, to).reduce((number, byte) => number * 256 + byte, 0);

export function unpackPair(state: Buffer | null | undefined): Pair {
  if (state?.length !== 12 && state?.length !== 14) throw new Error(`no pair: ${String(state)}`);
  return { time: wholeAt(state, 0, 7), number: wholeAt(state, 7, state.length) };
}
