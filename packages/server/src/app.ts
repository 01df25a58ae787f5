import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { createLimiter, memoryStore, type Store } from 'headgate';
import { deviceTokens } from 'headgate/http';
import type { Config } from './config.js';
import { administration } from './edge/http/admin/index.js';
import type { HttpBounds } from './edge/http/bounds.js';
import { keepInForce } from './in-force.js';
import { observation } from './observation.js';
import { logEvents } from './observe/events.js';
import { createLogger, type Logger } from './observe/logger.js';
import { createMetrics, type Metrics } from './observe/metrics.js';
import type { Exporting } from './observe/otel/export.js';
import { watchRequests } from './observe/requests.js';
import { createTraffic } from './observe/traffic.js';
import { opened, type Opened } from './opened.js';
import { openRedis } from './redis.js';
import type { Database } from './database/open.js';
import { startSweeping } from './database/sweeping.js';
import { databaseSource, fileSource, hasCopy } from './rules/source.js';
import { systemTiming } from './rules/timing.js';
import { startServing } from './serving.js';
import { readyWithShards, readyWithStore, tellingRules, type Shard } from './usecases/ready.js';
import { ownVersion } from './version.js';
import { storeOperations } from './usecases/store-operations.js';
import { receipts } from './usecases/receipts.js';
import type { Service } from './usecases/service.js';

/** A service that runs. */
export interface App {
  /** `http://127.0.0.1:8080`, `https://...`, or `unix:PATH`. */
  readonly url: string;
  /** Where orchestrators and Prometheus ask, if they have a port of their own. */
  readonly opsUrl: string | undefined;
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

/** The other processes that serve with this one. */
export interface Colleagues {
  /** `/metrics` of all, given those of this process. */
  metricsOfAll(own: Metrics): Metrics['text'];
}

export interface StartOptions {
  readonly colleagues?: Colleagues;
  /** What clients may cost; `httpBounds` if not said. */
  readonly bounds?: HttpBounds;
}

/**
 * Composes the service: rules, store, use cases, edge. In this process: `config.workers` is for who starts several.
 *
 * @throws RulesError if the rules have faults; SettingError if a setting cannot be used
 */
export async function startApp(config: Config, { colleagues, bounds }: StartOptions = {}): Promise<App> {
  const logger = createLogger(config.logLevel);
  const all = opened((message) => logger.error({ event: 'closing' }, message));
  try {
    return await startAll({ config, logger, all, colleagues, bounds });
  } catch (error) {
    // Connections would keep a process alive that cannot serve.
    await all.closeAll();
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

/** Loaded only where it is configured: most servers are looked at by Prometheus. */
async function startExporting(of: { config: Config; metrics: Metrics; logger: Logger }): Promise<Exporting | undefined> {
  const { otlp } = of.config;
  if (otlp === undefined) return undefined;
  const { startExport } = await import('./observe/otel/export.js');
  return startExport({ otlp, version: ownVersion(), ...of });
}

interface Starting {
  readonly config: Config;
  readonly logger: Logger;
  readonly all: Opened;
  readonly colleagues: Colleagues | undefined;
  readonly bounds: HttpBounds | undefined;
}

async function startAll({ config, logger, all, colleagues, bounds }: Starting): Promise<App> {
  const database = await openStored(config);
  if (database !== undefined) all.add('the database', database.close);
  const source =
    database === undefined ? await fileSource(config.rules ?? sampleRules) : await databaseSource({ database, cache: config.cache });
  const store = config.redis.length === 0 ? memoryStore() : openRedis(config.redis, { onCall: (call) => metrics.called(call) });
  all.add('the store', () => store.close());
  const limiter = createLimiter({
    store,
    rules: source.rules.rules.options,
    onEvent: logEvents(logger),
    ...(config.deadlineMs === undefined ? undefined : { deadline: config.deadlineMs }),
    ...(config.fleetSize === undefined ? undefined : { fleetSize: config.fleetSize }),
    ...(config.notes === undefined ? undefined : { notes: { max: config.notes } }),
  });
  // Gives leases back.
  all.add('the counters', limiter.close);
  const shards = shardsOf(store);
  const secret = config.secret ?? randomBytes(32).toString('base64url');
  const traffic = createTraffic({ secret });
  const names = shards?.map(({ name }) => name) ?? (store.local ? [] : ['store']);
  const mostNotes = store.local ? 0 : (config.notes ?? 100_000);
  const metrics = createMetrics({ stats: limiter.stats, shards: names, mostNotes, rules: source.state, version: ownVersion() }, traffic);
  const exporting = await startExporting({ config, metrics, logger });
  if (exporting !== undefined) all.add('the export of metrics and traces', exporting.close);
  const { current, stop } = keepInForce({ source, limiter, metrics, logger });
  all.add('the rules', stop);

  if (config.secret === undefined && config.redis.length > 0) {
    logger.warn('HEADGATE_SECRET is not set: ids of decisions hold only on this server, until it ends');
  }
  const observed = observation({
    ...{ config, database, metrics, traffic, logger },
    current,
    eventSecret: config.secret ?? config.webhook?.secret ?? secret,
  });
  all.add('what looks at decisions', observed.close);
  const service: Service = { current, receipts: receipts(secret), ...observed };
  const serving = await startServing({
    service,
    devices: deviceTokens({ secret }),
    ...(config.storeToken !== undefined && { store: { token: config.storeToken, run: storeOperations(store) } }),
    admin: administration({
      service,
      traffic,
      database,
      onUnrecorded: (act) => logger.error({ event: 'audit' }, `done, and not in the audit log: ${act}`),
    }),
    version: ownVersion(),
    ...{ config, logger, metrics, opened: all },
    ...(bounds && { bounds }),
    watch: watchRequests({ metrics: metrics.requests, lines: logger.isLevelEnabled('debug'), trace: exporting?.trace }),
    metricsText: colleagues?.metricsOfAll(metrics) ?? metrics.text,
    // Who started this process has made room for it.
    ownsSocket: colleagues !== undefined,
    askReady: tellingRules(shards === undefined ? readyWithStore(limiter.ready) : readyWithShards(shards), source.state),
  });
  const close = async (): Promise<void> => {
    await serving.stop();
    await all.closeAll();
    logger.info({ event: 'stopped' }, 'stopped');
  };
  let closing: Promise<void> | undefined;
  return {
    firstRule: [...source.rules.rules.rules.keys()][0] ?? '',
    url: serving.url,
    opsUrl: serving.opsUrl,
    close: () => (closing ??= close()),
  };
}
