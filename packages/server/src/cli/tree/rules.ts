import { clientSettings } from '../../settings/client.js';
import { readingSettings, reasonSetting, writingSettings } from '../../settings/database.js';
import { jsonSetting } from '../../settings/output.js';
import { databaseSetting } from '../../settings/serve.js';
import { flagOnly, switchSetting, wholeOr, wholeSetting } from '../../settings/setting.js';
import { command, type Group } from '../command.js';
import { databaseExits as exits, serviceExits } from './exits.js';

const file = { name: 'FILE' } as const;
const optionalFile = { ...file, optional: true } as const;

/** Where a set of rules is looked for. */
const anySettings = {
  version: flagOnly(
    wholeSetting({ name: 'version', within: [0, 1e15], help: 'as they were at this version', fallback: 'the one in force' }),
  ),
  database: { ...databaseSetting, help: 'sqlite:PATH or postgres://...; without it the service is asked' },
  ...clientSettings,
};
const anyExits = [...exits, ...serviceExits] as const;

/** The rules in a database, and rules files. */
export const rules: Group = {
  path: 'rules',
  summary: 'check, import, export and look at rules; take one out of force',
  commands: [
    command({
      path: 'rules list',
      summary: 'which rules there are, of a file, the database, or a running service',
      operands: [optionalFile],
      settings: { json: jsonSetting, ...anySettings },
      examples: [
        ['headgate rules list', 'of the service on this machine that has them in a database'],
        ['headgate rules list rules.yaml', 'of a file'],
        ['headgate rules list --database sqlite:headgate.db --version 3', 'as they were'],
      ],
      exits: anyExits,
      load: async () => (await import('../commands/rules-set.js')).list,
    }),
    command({
      path: 'rules validate',
      summary: 'tell every fault of a rules file, each with its line and the mend',
      operands: [file],
      settings: { json: jsonSetting },
      examples: [
        ['headgate rules validate rules.yaml', 'before it goes live'],
        [
          'headgate rules validate - --json < rules.yaml',
          'faults as data: {file, valid, rules, warnings, faults: [{file, line, rule, message}]}',
        ],
      ],
      load: async () => (await import('../commands/rules-files.js')).validate,
    }),
    command({
      path: 'rules import',
      summary: 'replace the rules in the database by those of a file, as one version',
      operands: [file],
      settings: { ...writingSettings, reason: reasonSetting },
      examples: [["headgate rules import rules.yaml --database sqlite:headgate.db --reason 'first rules'", 'from a file to a database']],
      exits,
      load: async () => (await import('../commands/rules-versions.js')).importRules,
    }),
    command({
      path: 'rules export',
      summary: 'print rules as a rules file, the same for the same rules; import and serve take it back',
      operands: [optionalFile],
      settings: anySettings,
      examples: [
        ['headgate rules export --database sqlite:headgate.db > rules.yaml', 'for a backup, or a review'],
        ['headgate rules export rules.yaml', 'a file, in order'],
      ],
      exits: anyExits,
      load: async () => (await import('../commands/rules-set.js')).exportRules,
    }),
    command({
      path: 'rules diff',
      summary: 'what differs between two versions',
      operands: [{ name: 'A' }, { name: 'B' }],
      settings: { json: jsonSetting, ...readingSettings },
      examples: [['headgate rules diff 11 12 --database sqlite:headgate.db', 'what the last change did']],
      exits,
      load: async () => (await import('../commands/rules-versions.js')).diff,
    }),
    command({
      path: 'rules history',
      summary: 'what was changed, by whom and why, the newest first',
      settings: {
        limit: flagOnly(wholeOr({ name: 'limit', within: [1, 200], usual: 20, help: 'versions at most' })),
        json: jsonSetting,
        ...readingSettings,
      },
      examples: [['headgate rules history --database sqlite:headgate.db --limit 5', 'the last five versions']],
      exits,
      load: async () => (await import('../commands/rules-versions.js')).history,
    }),
    command({
      path: 'rules rollback',
      summary: 'bring back what was in force at a version, as a new one',
      operands: [{ name: 'VERSION' }],
      settings: { ...writingSettings, reason: reasonSetting },
      examples: [["headgate rules rollback 11 --database sqlite:headgate.db --reason 'too strict'", 'as it was before 12']],
      exits,
      load: async () => (await import('../commands/rules-versions.js')).rollback,
    }),
    command({
      path: 'rules recipe',
      summary: 'print a ready-made set of rules; without a name, which there are',
      operands: [{ name: 'NAME', optional: true, oneOf: ['costly-endpoint', 'login', 'otp', 'public-api'] }],
      settings: { json: jsonSetting },
      examples: [['headgate rules recipe login > rules.yaml', 'a login, protected against guessing and stuffing']],
      load: async () => (await import('../commands/rules-files.js')).recipe,
    }),
    command({
      path: 'rules shadow',
      summary: 'have a rule only observe, in force within seconds, or refuse again',
      operands: [{ name: 'RULE', optional: true }],
      settings: {
        all: switchSetting({ name: 'all', help: 'all rules' }),
        off: switchSetting({ name: 'off', help: 'refuse again, whatever the rule itself says' }),
        clear: switchSetting({ name: 'clear', help: 'as the rule itself says' }),
        ...writingSettings,
      },
      examples: [
        ['headgate rules shadow --all --database sqlite:headgate.db', 'nothing is refused any more, and all is counted'],
        ['headgate rules shadow --all --clear --database sqlite:headgate.db', 'and back'],
      ],
      exits,
      load: async () => (await import('../commands/rules-shadow.js')).shadow,
    }),
  ],
};
