import cluster from 'node:cluster';
import { ConfigError } from 'headgate';
import { startApp } from '../../app.js';
import { configOf, SettingError, type Config } from '../../config.js';
import { RulesError } from '../../rules/faults.js';
import type { serveSettings } from '../../settings/serve.js';
import type { Facts } from '../../workers/messages.js';
import { startWorkers } from '../../workers/primary.js';
import { serveAsWorker } from '../../workers/worker.js';
import type { Work } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { stopSignals } from '../signals.js';

function whereCountersAre({ redis }: Config): string {
  if (redis.length === 0) return 'Counters are in this process. For one limit over many servers add: --redis redis://127.0.0.1:6379';
  if (redis.length === 1) return 'Counters are in Redis, shared by every server that uses it.';
  return `Counters are in ${redis.length} Redis (${redis.map(({ name }) => name).join(', ')}), shared by every server that uses the same ones.`;
}

/** How curl is told where that is, and whom to trust. */
function curlAt(url: string, { tls }: Config): string {
  if (url.startsWith('unix:')) return `--unix-socket ${url.slice('unix:'.length)} http://localhost`;
  if (tls === undefined) return url;
  return `--cacert CA.pem ${tls.clientCa === undefined ? '' : '--cert CLIENT.pem --key CLIENT-KEY.pem '}${url}`;
}

function greeting({ url, opsUrl, firstRule }: Facts, config: Config): string {
  const body = JSON.stringify({ rule: firstRule, key: 'key42' }).replaceAll("'", String.raw`'\''`);
  const ops = opsUrl === undefined ? '' : `\nHealth and metrics are on ${opsUrl}`;
  return `Headgate listens on ${url}${ops}

Try:

  curl -s ${curlAt(url, config)}/v1/check -H 'content-type: application/json' -d '${body}'

${whereCountersAre(config)}
`;
}

async function serveAlone(config: Config): Promise<number> {
  const toStop = stopSignals();
  const app = await startApp(config);
  process.stdout.write(greeting(app, config));
  await toStop;
  await app.close();
  return exitCodes.ok;
}

async function serveWithWorkers(config: Config): Promise<number> {
  const toStop = stopSignals();
  const workers = await startWorkers(config);
  void workers.listening.then((facts) => process.stdout.write(greeting(facts, config)));
  const code = await Promise.race([toStop, workers.failed]);
  const inOrder = await workers.stop();
  return code ?? (inOrder ? exitCodes.ok : exitCodes.failed);
}

async function serveByConfig(config: Config): Promise<number> {
  if (config.workers === 1) return serveAlone(config);
  if (cluster.isPrimary) return serveWithWorkers(config);
  await serveAsWorker(config);
  return exitCodes.ok;
}

/** Runs until SIGTERM or SIGINT; answers what is in flight before it ends. */
export const serve: Work<typeof serveSettings> = async (reading) => {
  const config = configOf(reading);
  try {
    return await serveByConfig(config);
  } catch (error) {
    const isMendable = [RulesError, SettingError, ConfigError].some((kind) => error instanceof kind);
    process.stderr.write(`${isMendable ? '' : 'headgate: '}${(error as Error).message}\n`);
    return isMendable ? exitCodes.config : exitCodes.failed;
  }
};
