import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createLimiter, memoryStore, type Store } from 'headgate';
import type { Config } from './config.js';
import { httpServer } from './edge/http/server.js';
import { logEvents } from './observe/events.js';
import { createLogger } from './observe/logger.js';
import { createMetrics } from './observe/metrics.js';
import { openRedis } from './redis.js';
import type { RuleSet } from './rules/compile.js';
import { showFault } from './rules/faults.js';
import { openRulesFile } from './rules/file-source.js';
import { readyWithShards, readyWithStore, type AskReady, type Shard } from './usecases/ready.js';
import { receipts } from './usecases/receipts.js';
import type { InForce, Service } from './usecases/service.js';

/** A service that runs. */
export interface App {
  readonly url: string;
  /** A rule to try the service with. */
  readonly firstRule: string;
  /** Not ready first, then answers what is in flight, then closes. */
  close(): Promise<void>;
}

/** The rules that are used when none are named. */
export const sampleRules = fileURLToPath(new URL('../rules/sample.yaml', import.meta.url));

/** The shards that are asked; undefined if the store is not several. */
const shardsOf = ({ shards }: Store): Shard[] | undefined =>
  shards?.filter(({ weight }) => weight > 0).map(({ name, store }) => ({ name, ping: () => store.ping() }));

/**
 * Composes the service: rules, store, use cases, edge.
 *
 * @throws RulesError if the rules have faults; SettingError if a setting cannot be used
 */
export async function startApp(config: Config): Promise<App> {
  const logger = createLogger(config.logLevel);
  const source = await openRulesFile(config.rules ?? sampleRules);
  const store = config.redis.length === 0 ? memoryStore() : openRedis(config.redis);
  const limiter = createLimiter({
    store,
    rules: source.rules.options,
    onEvent: logEvents(logger),
    ...(config.deadlineMs === undefined ? undefined : { deadline: config.deadlineMs }),
    ...(config.fleetSize === undefined ? undefined : { fleetSize: config.fleetSize }),
    ...(config.notes === undefined ? undefined : { notes: { max: config.notes } }),
  });
  const shards = shardsOf(store);
  const metrics = createMetrics({ stats: limiter.stats, shards: shards?.map(({ name }) => name) ?? (store.local ? [] : ['store']) });
  let inForce: InForce = { rules: source.rules, limiter };
  let draining = false;

  function accept(rules: RuleSet): void {
    inForce = { rules, limiter: limiter.withRules(rules.options) };
    metrics.rulesLoaded(rules.rules.size);
    for (const warning of rules.warnings) logger.warn(warning);
    logger.info({ rules: rules.rules.size }, 'rules in force');
  }
  accept(source.rules);
  const unwatch = source.watch({
    onRules: accept,
    onFault(error) {
      metrics.rulesRefused();
      for (const fault of error.faults) logger.error(showFault(fault));
      logger.error('the rules were not changed');
    },
  });

  if (config.secret === undefined && config.redis.length > 0) {
    logger.warn('HEADGATE_SECRET is not set: ids of decisions hold only on this server, until it ends');
  }
  const service: Service = {
    current: () => inForce,
    receipts: receipts(config.secret ?? randomBytes(32)),
    observe: metrics.decided,
  };
  const askReady = shards === undefined ? readyWithStore(limiter.ready) : readyWithShards(shards);
  const ready: AskReady = async () => (draining ? { ready: false, why: 'the server is stopping' } : askReady());
  const server = httpServer({ service, operable: { ready, metrics: metrics.text }, logger });
  try {
    await server.listen({ host: config.host, port: config.httpPort });
  } catch (error) {
    unwatch();
    await limiter.close();
    throw error;
  }
  const { port } = server.server.address() as AddressInfo;
  return {
    firstRule: [...source.rules.rules.keys()][0] ?? '',
    url: `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`,
    async close() {
      draining = true;
      unwatch();
      await server.close();
      await limiter.close();
    },
  };
}
