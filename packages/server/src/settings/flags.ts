import { didYouMean } from '../nearest.js';
import { variableOf } from './setting.js';

/** Flags that a command has: those with a value (the last one counts, unless all do), and those without; and secrets, which are no flags. */
export type KnownFlags = ReadonlyMap<string, 'value' | 'values' | 'switch' | 'secret'>;

/** The values of each flag that was given; a switch that was given has one, and it is empty. */
export type Flags = ReadonlyMap<string, readonly string[]>;

/** What was written after a command. */
export interface Line {
  readonly flags: Flags;
  readonly operands: readonly string[];
}

const looksLikeFlag = (text: string): boolean => text.length > 1 && text.startsWith('-');

/** Flags by their names, and what stands between them; after `--` there are only operands. All faults are told, and none shows a value: it may be a password. */
export function readLine(args: readonly string[], known: KnownFlags, faults: string[]): Line {
  const flags = new Map<string, readonly string[]>();
  const operands: string[] = [];
  const rest = [...args];
  /** What follows may only be a value: of the flag itself, not one of the flags after it. */
  const nextValue = (): string | undefined => (rest[0] === undefined || looksLikeFlag(rest[0]) ? undefined : rest.shift());

  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--') return { flags, operands: [...operands, ...rest] };
    const [, name = '', inline] = /^--([^=]+)(?:=(.*))?$/s.exec(arg) ?? [];
    const kind = known.get(name);
    if (!looksLikeFlag(arg)) operands.push(arg);
    else if (kind === undefined) {
      const [shown = ''] = /^--?[a-z-]*/i.exec(arg) ?? [];
      faults.push(`unknown option '${shown}'${didYouMean(name, [...known.keys(), 'help'], (one) => `--${one}`)}`);
      // Its value, presumably: one mistake is one fault.
      if (inline === undefined) nextValue();
    } else if (kind === 'secret') {
      faults.push(`--${name}: a command line is seen by everybody on the machine; set ${variableOf(name)} instead`);
      // Whatever follows is the secret, be it one that looks like a flag.
      if (inline === undefined && rest[0]?.startsWith('--') === false) rest.shift();
    } else if (kind === 'switch') {
      if (inline === undefined) flags.set(name, ['']);
      else faults.push(`--${name} takes no value`);
    } else {
      const value = inline ?? nextValue();
      if (value === undefined) faults.push(`--${name} needs a value`);
      else flags.set(name, kind === 'values' ? [...(flags.get(name) ?? []), value] : [value]);
    }
  }
  return { flags, operands };
}
