import { once } from 'node:events';
import { ConfigError } from 'headgate';
import { startApp, type App } from '../../app.js';
import { readConfig, SettingError, type Config } from '../../config.js';
import { RulesError } from '../../rules/faults.js';
import { exitCodes } from '../exit-codes.js';

export const help = `headgate serve [--rules FILE | --database URL] [--redis URL] [--http-port 8080] [--host 127.0.0.1]
headgate serve --redis NAME=URL --redis NAME=URL ... [--weight NAME=N ...]

Answers checks over HTTP.

  --rules FILE      YAML or JSON, read again when it changes; the sample rules by default   HEADGATE_RULES
  --database URL    instead: rules that operators change, sqlite:PATH or postgres://...     HEADGATE_DATABASE
  --cache FOLDER    copies of what is in the database, to start from while it is away       HEADGATE_CACHE
  --webhook URL     told of quotas that are used to 80 % and 100 %                          HEADGATE_WEBHOOK
                    secret of its signatures, at least 16 characters                        HEADGATE_WEBHOOK_SECRET
  --redis URL       where the counters are; in memory by default                            HEADGATE_REDIS
                    redis://h, rediss://h, redis+cluster://h1,h2, redis+sentinel://h1,h2/NAME
  --redis NAME=URL  several times: shards, each with a part of the keys by its name         HEADGATE_REDIS
                    the same on all servers; in the variable apart by white space
  --weight NAME=N   how large a shard's part is, 0 to 1000, 1 by default; 0 takes it out    HEADGATE_WEIGHT
  --fleet-size N    servers that share Redis, until Redis has told; 1 by default            HEADGATE_FLEET_SIZE
  --http-port PORT  8080 by default; 0 for any that is free                                 HEADGATE_HTTP_PORT
  --host ADDRESS    127.0.0.1 by default                                                    HEADGATE_HOST
                    secret of all ids, at least 16 characters, the same on all servers      HEADGATE_SECRET
                    answer by then whatever Redis does; 10ms by default, at most 60s        HEADGATE_DEADLINE
                    refused keys that are remembered, 0 for none; 100000 by default         HEADGATE_NOTES
                    fatal, error, warn, info (default), debug, trace or silent              HEADGATE_LOG_LEVEL

A flag goes before the environment. Ends with 78 if a setting or the rules are faulty.
`;

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
    if (error instanceof RulesError || error instanceof SettingError || error instanceof ConfigError) {
      process.stderr.write(`${error.message}\n`);
      return exitCodes.config;
    }
    process.stderr.write(`headgate: ${(error as Error).message}\n`);
    return exitCodes.failed;
  }
}
