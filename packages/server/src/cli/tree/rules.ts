import { readingSettings, reasonSetting, writingSettings } from '../../settings/database.js';
import { flagOnly, switchSetting, wholeOr } from '../../settings/setting.js';
import { command, type Group } from '../command.js';

const file = { name: 'FILE' } as const;
const exits = [[1, 'the database cannot do it, or another change came first']] as const;

/** The rules in a database, and rules files. */
export const rules: Group = {
  path: 'rules',
  summary: 'check, import and look at rules; take one out of force',
  commands: [
    command({
      path: 'rules recipe',
      summary: 'print a ready-made set of rules; without a name, which there are',
      operands: [{ name: 'NAME', optional: true, oneOf: ['costly-endpoint', 'login', 'otp', 'public-api'] }],
      settings: {},
      examples: [['headgate rules recipe login > rules.yaml', 'a login, protected against guessing and stuffing']],
      load: async () => (await import('../commands/rules-files.js')).recipe,
    }),
    command({
      path: 'rules validate',
      summary: 'tell every fault of a rules file, each with its line and the mend',
      operands: [file],
      settings: {},
      load: async () => (await import('../commands/rules-files.js')).validate,
    }),
    command({
      path: 'rules import',
      summary: 'replace the rules in the database by those of a file, as one version',
      operands: [file],
      settings: { ...writingSettings, reason: reasonSetting },
      exits,
      load: async () => (await import('../commands/rules-versions.js')).importRules,
    }),
    command({
      path: 'rules history',
      summary: 'what was changed, by whom and why, the newest first',
      settings: { ...readingSettings, limit: flagOnly(wholeOr({ name: 'limit', within: [1, 200], usual: 20, help: 'versions at most' })) },
      exits,
      load: async () => (await import('../commands/rules-versions.js')).history,
    }),
    command({
      path: 'rules diff',
      summary: 'what differs between two versions',
      operands: [{ name: 'A' }, { name: 'B' }],
      settings: readingSettings,
      exits,
      load: async () => (await import('../commands/rules-versions.js')).diff,
    }),
    command({
      path: 'rules rollback',
      summary: 'bring back what was in force at a version, as a new one',
      operands: [{ name: 'VERSION' }],
      settings: { ...writingSettings, reason: reasonSetting },
      exits,
      load: async () => (await import('../commands/rules-versions.js')).rollback,
    }),
    command({
      path: 'rules shadow',
      summary: 'have a rule only observe, in force within seconds, or refuse again',
      operands: [{ name: 'RULE', optional: true }],
      settings: {
        ...writingSettings,
        all: switchSetting({ name: 'all', help: 'all rules' }),
        off: switchSetting({ name: 'off', help: 'refuse again, whatever the rule itself says' }),
        clear: switchSetting({ name: 'clear', help: 'as the rule itself says' }),
      },
      examples: [
        ['headgate rules shadow --all --database URL', 'nothing is refused any more, and all is counted'],
        ['headgate rules shadow --all --clear --database URL', 'and back'],
      ],
      exits,
      load: async () => (await import('../commands/rules-shadow.js')).shadow,
    }),
  ],
};
