import { configSetting, type Operand } from '../../settings/read.js';
import { commandsOf, isGroup, type Command, type Tree } from '../command.js';

/** What may stand in a place: some words, names of files or folders, or anything. */
export type Value = readonly string[] | 'file' | 'folder' | 'any';

export interface Flag {
  /** With its dashes. */
  readonly name: string;
  readonly help: string;
  readonly placeholder: string;
  /** Undefined: it takes none. */
  readonly value: Value | undefined;
  readonly repeats: boolean;
}

export interface Word {
  readonly name: string;
  readonly summary: string;
}

export interface Completed extends Word {
  /** `rules import`. */
  readonly path: string;
  readonly flags: readonly Flag[];
  readonly operands: readonly { readonly name: string; readonly optional: boolean; readonly value: Value }[];
}

export interface Shape {
  /** What may follow `headgate`. */
  readonly words: readonly Word[];
  /** Names of groups with what may follow each. */
  readonly groups: readonly (Word & { readonly words: readonly Word[] })[];
  readonly commands: readonly Completed[];
}

function valueOf(placeholder: string, oneOf: readonly string[] = []): Value {
  if (oneOf.length > 0) return oneOf;
  return placeholder === 'FILE' ? 'file' : placeholder === 'FOLDER' ? 'folder' : 'any';
}

/** The first that is said: a completion has one line. */
const firstClause = (help: string): string => help.split(/[;:(]/)[0]?.trim() ?? '';

const lastWord = (path: string): string => path.split(' ').at(-1) ?? '';

const operandOf = ({ name, optional, oneOf }: Operand) => ({ name, optional: optional === true, value: valueOf(name, oneOf) });

function completed({ path, summary, settings, operands = [], file }: Command): Completed {
  const all = [...(file === true ? [configSetting] : []), ...Object.values(settings)].filter(({ scope }) => scope !== 'secret');
  const flags = all.map(({ name, help, placeholder, takes, oneOf }): Flag => ({
    name: `--${name}`,
    help: firstClause(help),
    placeholder,
    value: takes === 'switch' ? undefined : valueOf(placeholder, oneOf),
    repeats: takes === 'values',
  }));
  const help: Flag = { name: '--help', help: 'tell more of this command', placeholder: '', value: undefined, repeats: false };
  return { path, name: lastWord(path), summary, flags: [...flags, help], operands: operands.map(operandOf) };
}

/** What there is to complete. */
export function shapeOf(tree: Tree): Shape {
  const commands = commandsOf(tree).map(completed);
  const groups = tree.filter(isGroup).map(({ path, summary }) => ({
    ...{ name: path, summary },
    words: commands.filter((one) => one.path.startsWith(`${path} `)),
  }));
  const own = [
    { name: 'help', summary: 'tell more of a command' },
    { name: 'version', summary: 'print the version' },
  ];
  return { words: [...tree.map(({ path, summary }) => ({ name: path, summary })), ...own], groups, commands };
}

/** Text between single quotes, for bash and zsh. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
