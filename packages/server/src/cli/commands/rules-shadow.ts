import { SettingError } from '../../config.js';
import type { writingSettings } from '../../settings/database.js';
import type { Setting } from '../../settings/setting.js';
import type { Work } from '../command.js';
import { inDatabase } from '../in-database.js';
import { out } from '../out.js';

type Switches = Readonly<Record<'all' | 'off' | 'clear', Setting<boolean>>>;

export const shadow: Work<typeof writingSettings & Switches> = async ({ operands: [name], values }) => {
  const { all, off, clear, author: by } = values;
  if (all && name !== undefined) throw new SettingError('a rule or --all, not both');
  if (off && clear) throw new SettingError('--off or --clear, not both');
  const rule = all ? '*' : name;
  if (rule === undefined) throw new SettingError('which rule? headgate rules shadow NAME, or --all');
  await inDatabase(values, async ({ shadows }) => {
    if (clear) await shadows.remove({ by, rule });
    else await shadows.set({ by, rule, on: !off });
  });
  const which = all ? 'all rules' : `rule ${JSON.stringify(rule)}`;
  out(clear ? `${which}: as the rules themselves say` : off ? `${which}: in force` : `${which}: only observing`);
};
