import { once } from 'node:events';
import { ConfigError } from 'headgate';
import { startApp, type App } from '../../app.js';
import { configOf, SettingError, type Config } from '../../config.js';
import { RulesError } from '../../rules/faults.js';
import type { serveSettings } from '../../settings/serve.js';
import type { Work } from '../command.js';
import { exitCodes } from '../exit-codes.js';

function whereCountersAre({ redis }: Config): string {
  if (redis.length === 0) return 'Counters are in this process. For one limit over many servers add: --redis redis://127.0.0.1:6379';
  if (redis.length === 1) return 'Counters are in Redis, shared by every server that uses it.';
  return `Counters are in ${redis.length} Redis (${redis.map(({ name }) => name).join(', ')}), shared by every server that uses the same ones.`;
}

function greeting({ url, firstRule }: App, config: Config): string {
  const body = JSON.stringify({ rule: firstRule, key: 'key42' }).replaceAll("'", String.raw`'\''`);
  return `Headgate listens on ${url}

Try:

  curl -s ${url}/v1/check -H 'content-type: application/json' -d '${body}'

${whereCountersAre(config)}
`;
}

/** Runs until SIGTERM or SIGINT; answers what is in flight before it ends. */
export const serve: Work<typeof serveSettings> = async (reading) => {
  const config = configOf(reading);
  try {
    const app = await startApp(config);
    process.stdout.write(greeting(app, config));
    await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
    await app.close();
    return exitCodes.ok;
  } catch (error) {
    const isMendable = [RulesError, SettingError, ConfigError].some((kind) => error instanceof kind);
    process.stderr.write(`${isMendable ? '' : 'headgate: '}${(error as Error).message}\n`);
    return isMendable ? exitCodes.config : exitCodes.failed;
  }
};
