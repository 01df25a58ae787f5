import { readingSettings, writingSettings } from '../../settings/database.js';
import { jsonSetting } from '../../settings/output.js';
import { last, setting } from '../../settings/setting.js';
import { roles, type Role } from '../../rules/records.js';
import { command, type Group } from '../command.js';
import { databaseExits as exits } from './exits.js';

const roleSetting = setting<Role>({
  name: 'role',
  scope: 'flag',
  needed: 'read',
  oneOf: roles,
  help: 'read looks; operate also resets, bans and switches rules off; edit also changes rules',
  read(given, faults) {
    const role = roles.find((one) => one === last(given));
    if (role === undefined && given.texts.length > 0) faults.push(`${given.where}: expected one of ${roles.join(', ')}`);
    return role ?? 'read';
  },
});

export const token: Group = {
  path: 'token',
  summary: 'make, list and revoke tokens of the admin API',
  about: 'As long as there is none, the admin API serves only its own machine. The database keeps only hashes.',
  commands: [
    command({
      path: 'token create',
      summary: 'make a token and print it; it is shown only once',
      operands: [{ name: 'NAME' }],
      settings: { role: roleSetting, json: jsonSetting, ...writingSettings },
      examples: [['headgate token create ci --role edit --database sqlite:headgate.db', 'for HEADGATE_TOKEN of whoever changes rules']],
      exits,
      load: async () => (await import('../commands/token.js')).create,
    }),
    command({
      path: 'token list',
      summary: 'which tokens there are, with their roles, and who made them',
      settings: { json: jsonSetting, ...readingSettings },
      examples: [['headgate token list --database sqlite:headgate.db', 'who may?']],
      exits,
      load: async () => (await import('../commands/token.js')).list,
    }),
    command({
      path: 'token revoke',
      summary: 'make a token worthless',
      operands: [{ name: 'NAME' }],
      settings: writingSettings,
      examples: [['headgate token revoke ci --database sqlite:headgate.db', 'within seconds on every server']],
      exits,
      load: async () => (await import('../commands/token.js')).revoke,
    }),
  ],
};
