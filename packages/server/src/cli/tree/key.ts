import { clientSettings, ruleSetting } from '../../settings/client.js';
import { jsonSetting } from '../../settings/output.js';
import { durationSetting, flagOnly, needed, switchSetting } from '../../settings/setting.js';
import { command, type Group } from '../command.js';
import { serviceExits as exits } from './exits.js';

const operands = [{ name: 'RULE' }, { name: 'KEY' }] as const;

export const key: Group = {
  path: 'key',
  summary: 'look at a key on a running service; reset, ban or unban it',
  about: 'A key is whose budget it is: what the rule takes from a request, such as an address, an API key or an account.',
  commands: [
    command({
      path: 'key show',
      summary: 'how a key stands under every rule, and why it is refused; takes nothing',
      operands: [{ name: 'KEY' }],
      settings: {
        rule: ruleSetting,
        all: switchSetting({ name: 'all', help: 'also rules of which nothing is used' }),
        json: jsonSetting,
        ...clientSettings,
      },
      examples: [
        ['headgate key show key42', 'why is this customer refused?'],
        ['headgate key show key42 --rule search --json', 'one rule, for a program'],
      ],
      exits,
      load: async () => (await import('../commands/key.js')).show,
    }),
    command({
      path: 'key reset',
      summary: 'forget what a key has used under a rule; a ban stays',
      operands,
      settings: clientSettings,
      examples: [['headgate key reset search key42', 'all of its budget is there again']],
      exits,
      load: async () => (await import('../commands/key.js')).reset,
    }),
    command({
      path: 'key ban',
      summary: 'refuse a key under a rule for a while, whatever is left of its budget',
      operands,
      settings: {
        for: needed(flagOnly(durationSetting({ name: 'for', within: ['1ms', '3652d'], help: 'how long: 30s, 10m, 2h, 7d' })), '10m'),
        ...clientSettings,
      },
      examples: [['headgate key ban search key42 --for 10m', 'ten minutes without']],
      exits,
      load: async () => (await import('../commands/key.js')).ban,
    }),
    command({
      path: 'key unban',
      summary: 'lift a ban',
      operands,
      settings: clientSettings,
      examples: [['headgate key unban search key42', 'what is left of its budget counts again']],
      exits,
      load: async () => (await import('../commands/key.js')).unban,
    }),
  ],
};
