import { mayColor } from '../config.js';

/** A line for who ran the command. */
export const out = (line: string): void => void process.stdout.write(`${line}\n`);

/** The one JSON document that a program is given. */
export const outJson = (value: unknown): void => out(JSON.stringify(value, undefined, 2));

/** Of the terminal that is written to; what is piped elsewhere has neither a width nor colours. */
export interface Look {
  readonly width: number;
  readonly color: boolean;
}

export function lookOf(stream: NodeJS.WriteStream = process.stdout): Look {
  return stream.isTTY ? { width: stream.columns || 100, color: mayColor() } : { width: Number.POSITIVE_INFINITY, color: false };
}

const codes = { bold: 1, red: 31, green: 32, yellow: 33, magenta: 35, cyan: 36 } as const;

export type Color = keyof typeof codes;

export const painted = (text: string, color: Color, { color: may }: Pick<Look, 'color'>): string =>
  may ? `\u001b[${codes[color]}m${text}\u001b[0m` : text;

/** Control characters, and those that turn the direction of writing around: what somebody else named must not steer a terminal. */
const steering = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Text of others, as a terminal may be given it. */
export const visible = (text: string): string =>
  text.replace(steering, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
