import { jsonSetting } from '../../settings/output.js';
import { deadlineSetting, redisSetting } from '../../settings/serve.js';
import { durationOr, needed, setting } from '../../settings/setting.js';
import { command } from '../command.js';

export const doctor = command({
  path: 'doctor',
  summary: 'tell what is wrong with a Redis for rate limits, why that matters, and how to mend it',
  about:
    'Looks at all servers of a Redis or Valkey and changes nothing; the keys that it makes to try things out (hg:2{doctor...) expire within a second. ' +
    'Run it where the service runs: it measures the way from there.',
  settings: {
    redis: needed(redisSetting, 'redis://127.0.0.1:6379'),
    json: { ...jsonSetting, help: `${jsonSetting.help}: {version, target, reached, worst, findings}` },
    prefix: setting({
      name: 'prefix',
      scope: 'flag',
      help: 'what our keys begin with, as for the service',
      fallback: 'hg',
      read({ where, texts }, faults) {
        const prefix = texts.at(-1) ?? 'hg';
        if (prefix === '' || prefix.length > 64 || !prefix.isWellFormed()) faults.push(`${where}: expected 1 to 64 characters`);
        return prefix;
      },
    }),
    deadline: durationOr({ name: 'deadline', within: ['1ms', '60s'], usual: '10ms', help: deadlineSetting.help }),
  },
  examples: [
    ['headgate doctor --redis redis://127.0.0.1:6379', 'one Redis'],
    ['headgate doctor --redis a=redis://h1 --redis b=redis://h2', 'shards'],
  ],
  exits: [
    [1, 'warnings; of several Redis the worst counts'],
    [2, 'errors'],
    [69, 'no server could be reached'],
    [70, 'the doctor itself failed'],
  ],
  load: async () => (await import('../commands/doctor.js')).doctor,
});
