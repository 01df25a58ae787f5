import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createLimiter, memoryStore, type Store } from 'headgate';
import { deviceTokens } from 'headgate/http';
import type { Config } from './config.js';
import { administration } from './edge/http/admin/index.js';
import { httpServer } from './edge/http/server.js';
import { observation } from './observation.js';
import { logEvents } from './observe/events.js';
import { createLogger } from './observe/logger.js';
import { createMetrics } from './observe/metrics.js';
import { createTraffic } from './observe/traffic.js';
import { openRedis } from './redis.js';
import type { Database } from './database/open.js';
import { startSweeping } from './database/sweeping.js';
import type { Excepted } from './rules/exceptional.js';
import { showFault } from './rules/faults.js';
import { databaseSource, fileSource, hasCopy, type Notice } from './rules/source.js';
import { systemTiming } from './rules/timing.js';
import { readyWithShards, readyWithStore, tellingRules, type AskReady, type Shard } from './usecases/ready.js';
import { ownVersion } from './version.js';
import { storeOperations } from './usecases/store-operations.js';
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
  const database = await openStored(config);
  try {
    return await startOver(database, config);
  } catch (error) {
    // Its connections would keep a process alive that cannot serve.
    await database?.close();
    throw error;
  }
}

/** The database with what keeps it tidy. Loaded only where there is one: the drivers are a good part of the time that a start takes. */
async function openStored({ database: address, cache }: Config): Promise<Database | undefined> {
  if (address === undefined) return undefined;
  const { openDatabase } = await import('./database/open.js');
  // Where there was a database before, a file that is not there is a disk that is away, not a new database.
  const database = openDatabase(address, { mayCreate: !hasCopy(cache) });
  const stopSweeping = startSweeping(database, systemTiming);
  return {
    ...database,
    close() {
      stopSweeping();
      return database.close();
    },
  };
}

async function startOver(database: Database | undefined, config: Config): Promise<App> {
  const logger = createLogger(config.logLevel);
  const source =
    database === undefined ? await fileSource(config.rules ?? sampleRules) : await databaseSource({ database, cache: config.cache });
  const store = config.redis.length === 0 ? memoryStore() : openRedis(config.redis);
  const limiter = createLimiter({
    store,
    rules: source.rules.rules.options,
    onEvent: logEvents(logger),
    ...(config.deadlineMs === undefined ? undefined : { deadline: config.deadlineMs }),
    ...(config.fleetSize === undefined ? undefined : { fleetSize: config.fleetSize }),
    ...(config.notes === undefined ? undefined : { notes: { max: config.notes } }),
  });
  const shards = shardsOf(store);
  const secret = config.secret ?? randomBytes(32).toString('base64url');
  const traffic = createTraffic({ secret });
  const names = shards?.map(({ name }) => name) ?? (store.local ? [] : ['store']);
  const metrics = createMetrics({ stats: limiter.stats, shards: names, rules: source.state }, traffic);
  let inForce: InForce = { ...source.rules, limiter };
  let draining = false;

  function accept({ rules, planOf }: Excepted, { changed, faults, warnings }: Notice): void {
    inForce = { rules, planOf, limiter: limiter.withRules(rules.options) };
    for (const fault of faults) logger.error(fault);
    for (const warning of warnings) logger.warn(warning);
    if (changed === 'exceptions') {
      metrics.exceptionsLoaded();
      logger.debug('plans, overrides, exemptions and switches in force');
    } else {
      metrics.rulesLoaded(rules.rules.size);
      logger.info({ rules: rules.rules.size }, 'rules in force');
    }
  }
  accept(source.rules, { changed: 'rules', ...source.rules });
  const unwatch = source.watch({
    onRules: accept,
    onFault(error) {
      metrics.rulesRefused();
      for (const fault of error.faults) logger.error(showFault(fault));
      logger.error('the rules were not changed');
    },
    onTrouble: (message) => logger.warn(message),
  });

  if (config.secret === undefined && config.redis.length > 0) {
    logger.warn('HEADGATE_SECRET is not set: ids of decisions hold only on this server, until it ends');
  }
  const observed = observation({
    ...{ config, database, metrics, traffic, logger },
    current: () => inForce,
    eventSecret: config.secret ?? config.webhook?.secret ?? secret,
  });
  const service: Service = { current: () => inForce, receipts: receipts(secret), ...observed };
  const askReady = tellingRules(shards === undefined ? readyWithStore(limiter.ready) : readyWithShards(shards), source.state);
  const ready: AskReady = async () => (draining ? { ready: false, why: 'the server is stopping' } : askReady());
  const server = httpServer({
    service,
    operable: { ready, metrics: metrics.text },
    devices: deviceTokens({ secret }),
    ...(config.storeToken !== undefined && { store: { token: config.storeToken, run: storeOperations(store) } }),
    admin: administration({
      service,
      traffic,
      database,
      version: ownVersion(),
      onUnrecorded: (act) => logger.error({ event: 'audit' }, `done, and not in the audit log: ${act}`),
    }),
    logger,
  });
  try {
    await server.listen({ host: config.host, port: config.httpPort });
  } catch (error) {
    unwatch();
    await observed.close();
    await limiter.close();
    throw error;
  }
  const { port } = server.server.address() as AddressInfo;
  return {
    firstRule: [...source.rules.rules.rules.keys()][0] ?? '',
    url: `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`,
    async close() {
      draining = true;
      unwatch();
      await server.close();
      await observed.close();
      await limiter.close();
      await database?.close();
    },
  };
}
