import { readFileSync } from 'node:fs';
import type { Flags } from './flags.js';
import { variableOf, type Given, type Setting } from './setting.js';
import type { SettingsFile } from './file.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where settings come from; the first that has one counts. */
export interface Sources {
  readonly flags: Flags;
  readonly env: Environment;
  readonly file: SettingsFile | undefined;
}

/** A value in a file of its own, as containers are given secrets; its last line end is not part of it. */
function fromOwnFile(variable: string, path: string, faults: string[]): string | undefined {
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    faults.push(`${variable}: the file it names cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
    return undefined;
  }
}

/**
 * What is given for a setting: by its flag, else its variable, else the file that `..._FILE` names, else the settings file, else by a variable of
 * the field's own. Empty is absent, but for secrets: nobody sets those for nothing.
 */
export function givenFor(
  { name, takes, scope, split, standard }: Setting<unknown>,
  { flags, env, file }: Sources,
  faults: string[],
): Given {
  const variable = variableOf(name);
  const [flag, ownFile] = [`--${name}`, `${variable}_FILE`];
  const keepsEmpty = scope !== 'anywhere' || takes === 'switch';
  const filled = (where: string, texts: readonly string[]): Given => ({ where, texts: texts.filter((text) => keepsEmpty || text !== '') });

  const given = flags.get(name);
  if (given !== undefined || scope === 'flag') return filled(flag, given ?? []);
  const text = env[variable];
  if (text !== undefined && (scope === 'secret' || text !== '')) return filled(variable, split(text));
  const path = env[ownFile];
  if (path !== undefined && path !== '') {
    const content = fromOwnFile(ownFile, path, faults);
    return filled(ownFile, content === undefined ? [] : split(content));
  }
  const inFile = file?.values.get(name);
  if (file !== undefined && inFile !== undefined) return filled(`${file.name}: ${name}`, inFile);
  const others = standard === undefined ? undefined : env[standard];
  if (standard !== undefined && others !== undefined && others !== '') return filled(standard, split(others));
  return { where: scope === 'secret' ? variable : flag, texts: [] };
}
