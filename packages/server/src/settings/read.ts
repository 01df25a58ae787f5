import { SettingError } from '../redis-address.js';
import { readSettingsFile } from './file.js';
import { readLine } from './flags.js';
import { last, setting, type SettingTable, type ValuesOf } from './setting.js';
import { givenFor, type Environment, type Sources } from './sources.js';

/** What is written after a command, not as a flag. */
export interface Operand {
  /** As help calls it: `FILE`. */
  readonly name: string;
  readonly optional?: true;
  /** Values it may have, for completion. */
  readonly oneOf?: readonly string[];
}

export const operandText = ({ name, optional }: Operand): string => (optional === true ? `[${name}]` : name);

/** What a command takes. */
export interface Taking<S extends SettingTable> {
  /** As it is called: `rules import`. */
  readonly name: string;
  readonly operands: readonly Operand[];
  readonly settings: S;
  /** Whether settings may stand in a file: `--config FILE`. */
  readonly file?: boolean;
}

/** Where a setting's value came from, to be shown. */
export interface Origin {
  readonly name: string;
  /** As it may be shown; of one that is absent, what holds then. */
  readonly shown: string;
  /** `--http-port`, `HEADGATE_HTTP_PORT`, a file, or `default`. */
  readonly from: string;
}

export interface Reading<S extends SettingTable> {
  readonly values: ValuesOf<S>;
  readonly operands: readonly string[];
  readonly origins: readonly Origin[];
  readonly faults: string[];
}

/** Names the file of all other settings; not in that file itself. */
export const configSetting = setting({
  name: 'config',
  placeholder: 'FILE',
  help: 'YAML or JSON with these settings by name; flags and variables go before it',
  read: last,
});

/** Settings of a command from flags, else the environment, else the settings file, else their defaults; with all faults. */
export function readSettings<const S extends SettingTable>(command: Taking<S>, args: readonly string[], env: Environment): Reading<S> {
  const help = `see headgate help ${command.name}`;
  const faults: string[] = [];
  const all = Object.values(command.settings);
  const known = [...(command.file === true ? [configSetting] : []), ...all].map(
    ({ name, takes, scope }) => [name, scope === 'secret' ? scope : takes] as const,
  );
  const { flags, operands } = readLine(args, new Map(known), faults);
  const least = command.operands.filter(({ optional }) => optional !== true).length;
  const most = command.operands.length;
  if (operands.length > most && most === 0) faults.push('an argument without a flag');
  else if (operands.length < least || operands.length > most)
    faults.push(`expected ${command.operands.map(operandText).join(' ')} beside the flags; got ${operands.length} arguments`);
  const usage = faults.splice(0).map((fault) => `${fault}; ${help}`);

  const outside: Sources = { flags, env, file: undefined };
  const path = command.file === true ? last(givenFor(configSetting, outside, faults)) : undefined;
  const sources: Sources = { ...outside, file: path === undefined ? undefined : readSettingsFile(path, all, faults) };
  const origins: Origin[] = [];
  const values = Object.entries(command.settings).map(([key, one]) => {
    const given = givenFor(one, sources, faults);
    const isGiven = given.texts.length > 0;
    // After a fault of the flags it may well have been given: one mistake is one fault.
    if (one.needed !== undefined && !isGiven && usage.length === 0)
      faults.push(`--${one.name}: which one? For instance --${one.name} ${one.needed}`);
    origins.push({
      name: one.name,
      shown: isGiven ? given.texts.map((text) => one.show(text)).join(' ') : one.fallback,
      from: isGiven ? given.where : 'default',
    });
    return [key, one.read(given, faults)] as const;
  });
  return { values: Object.fromEntries(values) as ValuesOf<S>, operands, origins, faults: [...usage, ...faults] };
}

/** @throws SettingError with a line for each fault, if there is any */
export function assertFaultless(faults: readonly string[]): void {
  if (faults.length > 0) throw new SettingError(faults.join('\n'));
}
