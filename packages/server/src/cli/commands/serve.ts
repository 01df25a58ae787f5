import { once } from 'node:events';
import { startApp, type App } from '../../app.js';
import { readConfig, SettingError, type Config } from '../../config.js';
import { RulesError } from '../../rules/faults.js';
import { exitCodes } from '../exit-codes.js';

export const summary = 'serve     answer checks over HTTP';

export const help = `headgate serve [--rules FILE] [--redis URL] [--http-port 8080] [--host 127.0.0.1]

Answers checks over HTTP.

  --rules FILE      YAML or JSON, read again when it changes; the sample rules by default   HEADGATE_RULES
  --redis URL       where the counters are; in memory by default                            HEADGATE_REDIS
                    redis://h, rediss://h, redis+cluster://h1,h2, redis+sentinel://h1,h2/NAME
  --http-port PORT  8080 by default; 0 for any that is free                                 HEADGATE_HTTP_PORT
  --host ADDRESS    127.0.0.1 by default                                                    HEADGATE_HOST
                    secret of decision ids, at least 16 characters, the same on all servers HEADGATE_SECRET
                    answer by then whatever Redis does; 10ms by default, at most 60s        HEADGATE_DEADLINE
                    fatal, error, warn, info (default), debug, trace or silent              HEADGATE_LOG_LEVEL

A flag goes before the environment. Ends with 78 if a setting or the rules are faulty.
`;

function greeting({ url, firstRule }: App, config: Config): string {
  const body = JSON.stringify({ rule: firstRule, key: 'key42' }).replaceAll("'", String.raw`'\''`);
  const redis =
    config.redis === undefined
      ? 'Counters are in this process. For one limit over many servers add: --redis redis://127.0.0.1:6379'
      : 'Counters are in Redis, shared by every server that uses it.';
  return `Headgate listens on ${url}

Try:

  curl -s ${url}/v1/check -H 'content-type: application/json' -d '${body}'

${redis}
`;
}

/** Runs until SIGTERM or SIGINT; answers what is in flight before it ends. */
export async function serve(args: readonly string[]): Promise<number> {
  let config: Config;
  try {
    config = readConfig(args);
    const app = await startApp(config);
    process.stdout.write(greeting(app, config));
    await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
    await app.close();
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof RulesError || error instanceof SettingError) {
      process.stderr.write(`${error.message}\n`);
      return exitCodes.config;
    }
    process.stderr.write(`headgate: ${(error as Error).message}\n`);
    return exitCodes.failed;
  }
}
