import { last, setting } from '../../settings/setting.js';

/** One of `of` parts of all keys, from 1. */
export interface Part {
  readonly number: number;
  readonly of: number;
}

/** FNV-1a: even enough, and the same everywhere. */
function hash(text: string): number {
  let value = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index += 1) value = Math.imul(value ^ text.charCodeAt(index), 0x01_00_01_93);
  return (value ^ (value >>> 15)) >>> 0;
}

export const isInPart = (key: string, { number, of }: Part): boolean => hash(key) % of === number - 1;

export const partSetting = setting<Part | undefined>({
  name: 'part',
  placeholder: 'N/M',
  scope: 'flag',
  help: 'only the keys of one of M parts, such as 1/4: for a log with more keys than are kept in mind',
  read(given, faults) {
    const text = last(given);
    if (text === undefined) return undefined;
    const [, number = 0, of = 0] = (/^(\d{1,4})\/(\d{1,4})$/.exec(text) ?? []).map(Number);
    if (number < 1 || number > of) faults.push(`${given.where}: expected a part such as 1/4; got ${JSON.stringify(text)}`);
    return { number, of };
  },
});
