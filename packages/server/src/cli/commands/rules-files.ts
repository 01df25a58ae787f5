import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { SettingError } from '../../config.js';
import { loadRules } from '../../rules/load.js';
import type { SettingTable } from '../../settings/setting.js';
import type { Work } from '../command.js';
import { out } from '../out.js';

const recipes = fileURLToPath(new URL('../../../rules/recipes/', import.meta.url));

export const recipe: Work<SettingTable> = async ({ operands: [name] }) => {
  const names = (await readdir(recipes)).map((file) => file.replace(/\.yaml$/, '')).sort();
  if (name === undefined) out(names.join('\n'));
  else if (!names.includes(name)) throw new SettingError(`there is no recipe ${JSON.stringify(name)}; there are ${names.join(', ')}`);
  else process.stdout.write(await readFile(`${recipes}${name}.yaml`, 'utf8'));
};

/** @throws SettingError if it cannot be read */
export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new SettingError(`${file}: cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}

export const validate: Work<SettingTable> = async ({ operands: [file = ''] }) => {
  const { rules, warnings } = loadRules(file, await readText(file));
  for (const warning of warnings) out(`warning: ${warning}`);
  out(`${file}: ${rules.size} ${rules.size === 1 ? 'rule' : 'rules'}, no faults`);
};
