import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { SettingError } from '../../config.js';
import { RulesError } from '../../rules/faults.js';
import { loadRules } from '../../rules/load.js';
import type { Setting } from '../../settings/setting.js';
import type { Work } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { out, outJson } from '../out.js';
import { readText } from '../read-text.js';

const recipes = fileURLToPath(new URL('../../../rules/recipes/', import.meta.url));

type Settings = Readonly<Record<'json', Setting<boolean>>>;

export const recipe: Work<Settings> = async ({ operands: [name], values: { json } }) => {
  const names = (await readdir(recipes)).map((file) => file.replace(/\.yaml$/, '')).sort();
  if (name !== undefined && !names.includes(name))
    throw new SettingError(`there is no recipe ${JSON.stringify(name)}; there are ${names.join(', ')}`);
  const yaml = name === undefined ? undefined : await readFile(`${recipes}${name}.yaml`, 'utf8');
  if (json) outJson(yaml === undefined ? { recipes: names } : { name, yaml });
  else process.stdout.write(yaml ?? `${names.join('\n')}\n`);
};

/** Faults as data end with the same code as told ones. */
export const validate: Work<Settings> = async ({ operands: [file = ''], values: { json } }) => {
  const text = await readText(file);
  try {
    const { rules, warnings } = loadRules(file, text);
    if (json) outJson({ file, valid: true, rules: rules.size, warnings, faults: [] });
    else {
      for (const warning of warnings) out(`warning: ${warning}`);
      out(`${file}: ${rules.size} ${rules.size === 1 ? 'rule' : 'rules'}, no faults`);
    }
    return exitCodes.ok;
  } catch (error) {
    if (!json || !(error instanceof RulesError)) throw error;
    outJson({ file, valid: false, faults: error.faults });
    return exitCodes.config;
  }
};
