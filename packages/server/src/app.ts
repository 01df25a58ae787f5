import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createLimiter, memoryStore } from 'headgate';
import type { Config } from './config.js';
import { httpServer } from './edge/http/server.js';
import { createLogger } from './observe/logger.js';
import { createMetrics } from './observe/metrics.js';
import { openRedis } from './redis.js';
import type { RuleSet } from './rules/compile.js';
import { showFault } from './rules/faults.js';
import { openRulesFile } from './rules/file-source.js';
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

/**
 * Composes the service: rules, store, use cases, edge.
 *
 * @throws RulesError if the rules have faults; SettingError if a setting cannot be used
 */
export async function startApp(config: Config): Promise<App> {
  const logger = createLogger(config.logLevel);
  const metrics = createMetrics();
  const source = await openRulesFile(config.rules ?? sampleRules);
  const store = config.redis === undefined ? memoryStore() : openRedis(config.redis);
  const limiter = createLimiter({
    store,
    rules: source.rules.options,
    ...(config.deadlineMs === undefined ? undefined : { deadline: config.deadlineMs }),
  });
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

  if (config.secret === undefined && config.redis !== undefined) {
    logger.warn('HEADGATE_SECRET is not set: ids of decisions hold only on this server, until it ends');
  }
  const service: Service = {
    current: () => inForce,
    receipts: receipts(config.secret ?? randomBytes(32)),
    observe: metrics.decided,
  };
  async function ready(): Promise<void> {
    if (draining) throw new Error('the server is stopping');
    await inForce.limiter.ready();
  }
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
