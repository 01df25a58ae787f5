import { jsonSetting } from '../../settings/output.js';
import { serveSettings } from '../../settings/serve.js';
import { command, type Group } from '../command.js';

export const config: Group = {
  path: 'config',
  summary: 'show what headgate serve would use',
  commands: [
    command({
      path: 'config print',
      summary: 'print every setting with its value and where it came from; secrets and passwords are not shown',
      about: 'Takes the flags of headgate serve, and reads the same variables and files.',
      settings: { ...serveSettings, json: jsonSetting },
      file: true,
      examples: [['headgate config print --config /etc/headgate.yaml', 'what a server with this file would use']],
      load: async () => (await import('../commands/config.js')).configPrint,
    }),
  ],
};
