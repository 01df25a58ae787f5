import { serveSettings } from '../../settings/serve.js';
import { command } from '../command.js';

export const serve = command({
  path: 'serve',
  summary: 'answer checks over HTTP',
  about:
    'Without settings it serves the sample rules with counters in memory. A flag goes before its variable, that before a file that NAME_FILE names ' +
    '(HEADGATE_SECRET_FILE), and that before the settings file.',
  settings: serveSettings,
  file: true,
  examples: [
    ['headgate serve --rules rules.yaml', 'one server, counters in memory'],
    ['headgate serve --rules rules.yaml --redis redis://127.0.0.1:6379', 'one limit over every server that uses this Redis'],
    ['headgate serve --rules rules.yaml --redis redis://127.0.0.1:6379 --workers auto', 'on all cores'],
    ['headgate serve --tls-cert tls.crt --tls-key tls.key --ops-port 8081', 'over TLS, with probes and metrics on a port of their own'],
    ['headgate serve --database sqlite:headgate.db', 'rules that operators change while it runs'],
  ],
  exits: [
    [1, 'it could not listen, or the database is away and there is no copy'],
    [130, 'a second SIGINT ended it at once'],
    [143, 'a second SIGTERM ended it at once'],
  ],
  load: async () => (await import('../commands/serve.js')).serve,
});
