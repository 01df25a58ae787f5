import { SettingError } from '../redis-address.js';

/** What was given, in the order given, and where, to be named by faults: `--redis`, `HEADGATE_REDIS`, or a place in a file. Nothing: absent. */
export interface Given {
  readonly where: string;
  readonly texts: readonly string[];
}

/** One setting: what it is called, what it means, and how its text becomes a value. Help, completion, docs and `config print` are made of it. */
export interface Setting<T> {
  /** `http-port` is the flag `--http-port`, the variable `HEADGATE_HTTP_PORT` and the key `http-port` of a settings file. */
  readonly name: string;
  /** A flag with one value (the last one counts), with values that add up, or with none. */
  readonly takes: 'value' | 'values' | 'switch';
  /** What its value is called in help: `PORT`. */
  readonly placeholder: string;
  readonly help: string;
  /** What holds if it is absent, as help says it. */
  readonly fallback: string;
  /** Secrets have no flag, as a command line is seen by everybody on the machine; what is said anew each time has only a flag. */
  readonly scope: 'anywhere' | 'flag' | 'secret';
  /** A variable of the field's own that counts where nothing of ours is given. */
  readonly standard?: string;
  /** The command cannot do without: an example. */
  readonly needed?: string;
  /** Values that must be one of these, for completion. */
  readonly oneOf: readonly string[];
  /** Values that stand in one variable. */
  split(text: string): string[];
  /** The value; with faults, what is answered is not to be used. */
  read(given: Given, faults: string[]): T;
  /** As it may be shown. */
  show(text: string): string;
}

export type SettingTable = Readonly<Record<string, Setting<unknown>>>;
export type ValuesOf<S extends SettingTable> = { readonly [K in keyof S]: ReturnType<S[K]['read']> };

export interface Words {
  readonly name: string;
  readonly help: string;
  readonly placeholder?: string;
  readonly fallback?: string;
}

type Making<T> = Words & Pick<Setting<T>, 'read'> & Partial<Omit<Setting<T>, keyof Words | 'read'>>;

export const setting = <T>(making: Making<T>): Setting<T> => ({
  takes: 'value',
  placeholder: making.name.toUpperCase(),
  fallback: '',
  scope: 'anywhere',
  oneOf: [],
  split: (text) => [text],
  show: (text) => text,
  ...making,
});

export const variableOf = (name: string): string => `HEADGATE_${name.toUpperCase().replaceAll('-', '_')}`;

/** The one value that counts; undefined if it is absent. */
export const last = ({ texts }: Given): string | undefined => texts.at(-1);

/** The same, said anew each time: only by its flag. */
export const flagOnly = <T>(one: Setting<T>): Setting<T> => ({ ...one, scope: 'flag' });

/** The same, which the command cannot do without. */
export const needed = <T>(one: Setting<T | undefined>, example: string): Setting<T> =>
  // Where it is absent there is a fault, and nobody uses what was read.
  ({ ...one, fallback: '', needed: example }) as Setting<T>;

/** The value, or undefined with its fault told. */
export function orFault<T>(faults: string[], read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    faults.push(error.message);
    return undefined;
  }
}

export const textSetting = (words: Words): Setting<string | undefined> => setting({ ...words, read: last });

/** Free text with something that holds where there is none. */
export const textOr = (words: Words & { readonly fallback: string }): Setting<string> =>
  setting({ ...words, read: (given) => last(given) ?? words.fallback });

export const secretSetting = (words: Words & { readonly least: number }): Setting<string | undefined> =>
  setting({
    ...words,
    scope: 'secret',
    show: () => '(not shown)',
    read(given, faults) {
      const text = last(given);
      if (text !== undefined && text.length < words.least)
        faults.push(`${given.where}: expected at least ${words.least} characters (the value is not shown)`);
      return text;
    },
  });

interface Range {
  readonly within: readonly [number, number];
  /** `a port`; a whole number if not said. */
  readonly what?: string;
}

function readWhole(given: Given, { within: [least, most], what = 'a whole number' }: Range, faults: string[]): number | undefined {
  const text = last(given);
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
  faults.push(`${given.where}: expected ${what} from ${least} to ${most}; got ${JSON.stringify(text)}`);
  return undefined;
}

/** A whole number that need not be there; `fallback` tells what holds then. */
export const wholeSetting = (words: Words & Range): Setting<number | undefined> =>
  setting({ placeholder: 'N', ...words, read: (given, faults) => readWhole(given, words, faults) });

export const wholeOr = (words: Omit<Words, 'fallback'> & Range & { readonly usual: number }): Setting<number> =>
  setting({
    placeholder: 'N',
    ...words,
    fallback: String(words.usual),
    read: (given, faults) => readWhole(given, words, faults) ?? words.usual,
  });

const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** In milliseconds; NaN if it is no duration. */
function msOf(text: string): number {
  const [, number, unit = ''] = /^(\d{1,8})(ms|s|m|h|d)$/.exec(text) ?? [];
  return Number(number) * (unitMs[unit] ?? Number.NaN);
}

interface DurationRange {
  readonly within: readonly [string, string];
}

function readDuration(given: Given, { within: [least, most] }: DurationRange, faults: string[]): number | undefined {
  const text = last(given);
  if (text === undefined) return undefined;
  const ms = msOf(text);
  if (ms >= msOf(least) && ms <= msOf(most)) return ms;
  faults.push(`${given.where}: expected ${least} to ${most}, such as "10ms" or "5s"; got ${JSON.stringify(text)}`);
  return undefined;
}

/** In milliseconds; `fallback` tells what holds where it is absent. */
export const durationSetting = (words: Words & DurationRange): Setting<number | undefined> =>
  setting({ placeholder: 'TIME', ...words, read: (given, faults) => readDuration(given, words, faults) });

export const durationOr = (words: Omit<Words, 'fallback'> & DurationRange & { readonly usual: string }): Setting<number> =>
  setting({
    placeholder: 'TIME',
    ...words,
    fallback: words.usual,
    read: (given, faults) => readDuration(given, words, faults) ?? msOf(words.usual),
  });

/** A part of a whole: 0 to 1. */
export const partOr = (words: Omit<Words, 'fallback'> & { readonly usual: number }): Setting<number> =>
  setting({
    placeholder: 'PART',
    ...words,
    fallback: String(words.usual),
    read(given, faults) {
      const text = last(given);
      if (text === undefined) return words.usual;
      if (/^(0|1|0?\.\d{1,9}|1\.0{1,9})$/.test(text)) return Number(text);
      faults.push(`${given.where}: expected a part from 0 to 1, such as 0.01; got ${JSON.stringify(text)}`);
      return words.usual;
    },
  });

export const choiceOr = <const T extends string>(
  words: Omit<Words, 'fallback'> & { readonly oneOf: readonly T[]; readonly usual: T },
): Setting<T> =>
  setting({
    ...words,
    fallback: words.usual,
    read(given, faults) {
      const text = last(given);
      if (text === undefined) return words.usual;
      const choice = words.oneOf.find((one) => one === text);
      if (choice === undefined) faults.push(`${given.where}: expected one of ${words.oneOf.join(', ')}; got ${JSON.stringify(text)}`);
      return choice ?? words.usual;
    },
  });

/** On if its flag is there; where it may stand elsewhere, as `true` or `false` says. */
export const switchSetting = (words: Pick<Words, 'name' | 'help'> & Partial<Pick<Setting<boolean>, 'scope'>>): Setting<boolean> =>
  setting({
    scope: 'flag',
    ...words,
    takes: 'switch',
    placeholder: '',
    read(given, faults) {
      const text = last(given);
      if (text !== undefined && !['', 'true', 'false'].includes(text))
        faults.push(`${given.where}: expected true or false; got ${JSON.stringify(text)}`);
      return text !== undefined && text !== 'false';
    },
  });
