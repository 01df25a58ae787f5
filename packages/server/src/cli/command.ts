import { readGiven } from '../config.js';
import { assertFaultless, type Operand, type Reading } from '../settings/read.js';
import type { SettingTable } from '../settings/setting.js';
import { orTell } from './faults.js';

/** What a command says of itself; help, completion and docs are made of it. */
export interface Told {
  /** As it is called after `headgate`: `rules import`. */
  readonly path: string;
  /** One line, without a full stop. */
  readonly summary: string;
  /** What there is to know before using it. */
  readonly about?: string;
  readonly operands?: readonly Operand[];
  /** Commands with what each does. */
  readonly examples?: readonly (readonly [command: string, does: string])[];
  /** What it ends with, beside 0 for success and 78 for a faulty setting. */
  readonly exits?: readonly (readonly [code: number, when: string])[];
  /** Whether settings may stand in a file. */
  readonly file?: boolean;
}

export interface Command extends Told {
  readonly settings: SettingTable;
  /** Answers the exit code. */
  run(args: readonly string[]): Promise<number>;
}

/** Commands under one name. */
export interface Group {
  readonly path: string;
  readonly summary: string;
  readonly about?: string;
  readonly commands: readonly Command[];
}

export type Tree = readonly (Command | Group)[];

export const isGroup = (node: Command | Group): node is Group => 'commands' in node;

/** Every command by itself. */
export const commandsOf = (tree: Tree): Command[] => tree.flatMap((node) => (isGroup(node) ? node.commands : [node]));

/** Does a command's work; answers the exit code. */
export type Work<S extends SettingTable> = (reading: Reading<S>) => Promise<number> | Promise<void>;

/** The work is loaded when it is asked for: a command that does not serve need not wait for a web server and database drivers. */
export function command<const S extends SettingTable>(
  told: Told & { readonly settings: S; readonly load: () => Promise<Work<S>> },
): Command {
  const { load, ...rest } = told;
  const { path: name, operands = [], settings, file = false } = told;
  const taking = { name, operands, settings, file } as const;
  return {
    ...rest,
    run: (args) =>
      orTell(async () => {
        const reading = readGiven(taking, args);
        // What a file says is judged with everything else.
        if (told.file !== true) assertFaultless(reading.faults);
        return (await load())(reading);
      }),
  };
}
