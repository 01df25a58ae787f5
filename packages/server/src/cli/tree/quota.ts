import { clientSettings, planSetting, ruleSetting } from '../../settings/client.js';
import { jsonSetting } from '../../settings/output.js';
import { flagOnly, needed, switchSetting, textSetting } from '../../settings/setting.js';
import { command, type Group } from '../command.js';
import { partSetting } from '../rebuild/parts.js';
import { serviceExits as exits } from './exits.js';

const settings = { plan: planSetting, json: jsonSetting, ...clientSettings };

export const quota: Group = {
  path: 'quota',
  summary: 'look at the quotas of a customer on a running service; set them, or rebuild all from a log',
  commands: [
    command({
      path: 'quota show',
      summary: 'how much of its quotas a key has used in the period in force',
      operands: [{ name: 'KEY' }],
      settings,
      examples: [['headgate quota show key42', 'how far is this customer?']],
      exits,
      load: async () => (await import('../commands/quota.js')).show,
    }),
    command({
      path: 'quota set',
      summary: 'set how much a key has used in the period in force, as billing knows it',
      operands: [{ name: 'RULE' }, { name: 'KEY' }, { name: 'USED' }],
      settings,
      examples: [['headgate quota set monthly key42 1500', 'the next check is number 1501']],
      exits,
      load: async () => (await import('../commands/quota.js')).set,
    }),
    command({
      path: 'quota rebuild',
      summary: 'set the quotas of all customers in an access log to what they used by it',
      about:
        'The log has a JSON object a line (NDJSON): {"time":"2026-05-14T10:00:00Z","rule":"monthly","key":"key42","cost":3,"plan":"pro"}. "time" has ' +
        'an offset, or is milliseconds since 1970; "rule" may be left out with --rule; "cost" is 1 and "plan" the one that is stored if not said; lines ' +
        'with "allowed":false took nothing, and other fields do not matter. Counted is what lies in the period in force of each quota, by the calendar ' +
        'that the service tells for that customer; lines of rules that are no quotas are passed over. What is set is the sum, so it may be run again; ' +
        'what passes between the end of the log and the setting is not in it, and keys that are not in the log are left alone. The log is read as a ' +
        'stream, its first 200,000 keys are kept in mind; of more, nothing is set, and --part goes through them in turn. Lines that cannot be read ' +
        'are told by number and never shown; the others are set all the same.',
      settings: {
        fromLog: needed(
          flagOnly(textSetting({ name: 'from-log', placeholder: 'FILE', help: 'the access log, also as .gz; - for standard input' })),
          'access.ndjson',
        ),
        rule: { ...ruleSetting, help: 'only lines of this rule, and those that name none' },
        part: partSetting,
        dryRun: switchSetting({ name: 'dry-run', help: 'sum up, and set nothing' }),
        json: jsonSetting,
        ...clientSettings,
      },
      examples: [
        ['headgate quota rebuild --from-log access.ndjson --dry-run', 'what would be set'],
        ['headgate quota rebuild --from-log access.ndjson.gz --rule monthly', 'one quota'],
        [
          `jq -c '{time: .ts, key: .customer, cost: .units}' app.log | headgate quota rebuild --from-log - --rule monthly`,
          'from another log',
        ],
      ],
      exits: [[1, 'lines could not be read, or quotas changed meanwhile; the rest was set'], ...exits],
      load: async () => (await import('../commands/quota-rebuild.js')).rebuild,
    }),
  ],
};
