import { clientSettings, costSetting, planSetting } from '../../settings/client.js';
import { jsonSetting } from '../../settings/output.js';
import { switchSetting } from '../../settings/setting.js';
import { command } from '../command.js';
import { serviceExits } from './exits.js';

export const check = command({
  path: 'check',
  summary: 'ask a running service whether a request may pass, and take its units',
  operands: [{ name: 'RULE' }, { name: 'KEY' }],
  settings: {
    cost: costSetting,
    plan: planSetting,
    peek: switchSetting({ name: 'peek', help: 'take nothing' }),
    json: jsonSetting,
    ...clientSettings,
  },
  examples: [
    ['headgate check search key42', 'one unit'],
    ['headgate check search key42 --cost 3 --peek', 'whether three would pass, without taking them'],
    ['if headgate check backups nightly; then ./backup.sh; fi', 'in a script'],
  ],
  exits: [[1, 'refused'], ...serviceExits],
  load: async () => (await import('../commands/check.js')).check,
});
