import type { DatabaseAddress } from './database/address.js';
import { readRedisServers, type RedisServer } from './redis-servers.js';
import { assertFaultless, readSettings, type Reading, type Taking } from './settings/read.js';
import { otlpOf, type OtlpConfig } from './settings/otlp.js';
import { serveSettings } from './settings/serve.js';
import type { SettingTable } from './settings/setting.js';
import type { Environment } from './settings/sources.js';
import type { TlsFiles } from './tls/files.js';

export { readRedisUrl, SettingError, type RedisAddress } from './redis-address.js';
export type { RedisServer } from './redis-servers.js';

/** All settings of `headgate serve`. */
export interface Config {
  /** A rules file; not beside `database`. */
  readonly rules: string | undefined;
  /** Where the rules are, and plans, overrides and all that operators change. */
  readonly database: DatabaseAddress | undefined;
  /** A folder for copies of what is in the database. */
  readonly cache: string | undefined;
  /** Told of quotas that are nearly used up. */
  readonly webhook: { readonly url: string; readonly secret: string } | undefined;
  /** Where the counters are: in this process if empty, in one Redis, or in several by name that share the keys. */
  readonly redis: readonly RedisServer[];
  readonly host: string;
  readonly httpPort: number;
  /** A Unix socket to listen on, instead of `host` and `httpPort`. */
  readonly socket: string | undefined;
  /** For orchestrators and Prometheus, without TLS. */
  readonly opsPort: number | undefined;
  readonly tls: TlsFiles | undefined;
  /** Processes that answer. */
  readonly workers: number;
  /** When it is to stop, it is not ready and still answers for so long, in milliseconds. */
  readonly drainMs: number;
  /** Then requests in flight have so long, in milliseconds. */
  readonly stopWithinMs: number;
  /** Of decision ids; servers that take back each other's share it. */
  readonly secret: string | undefined;
  /** Who shows it may use the counters as a store; undefined: nobody. */
  readonly storeToken: string | undefined;
  readonly logLevel: string;
  /** By when a decision is answered, whatever Redis does, in milliseconds; undefined: the library's default. */
  readonly deadlineMs: number | undefined;
  /** Processes that share the counters, until Redis has told; undefined: the library's default. */
  readonly fleetSize: number | undefined;
  /** Refused keys remembered at once; undefined: the library's default. */
  readonly notes: number | undefined;
  /** Where OpenTelemetry is told; undefined: nowhere. */
  readonly otlp: OtlpConfig | undefined;
}

/** Settings of any command. The only reader of the environment. */
export const readGiven = <const S extends SettingTable>(
  taking: Taking<S>,
  args: readonly string[],
  env: Environment = process.env,
): Reading<S> => readSettings(taking, args, env);

/** Whether a terminal may be given colours (https://no-color.org). */
export const mayColor = (env: Environment = process.env): boolean => (env['NO_COLOR'] ?? '') === '';

const taking = { name: 'serve', operands: [], settings: serveSettings, file: true } as const;

/** What `headgate serve` was given, with where each setting came from; faults are in it. */
export const readServeSettings = (args: readonly string[], env?: Environment): Reading<typeof serveSettings> =>
  readGiven(taking, args, env);

const largestFleet = 100_000;

/** How many processes share the counters. */
function processesOf(servers: number | undefined, workers: number): number | undefined {
  if (servers === undefined && workers === 1) return undefined;
  return Math.min(largestFleet, (servers ?? 1) * workers);
}

interface TlsGiven {
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly tlsClientCa: string | undefined;
  readonly socket: string | undefined;
}

function readTls({ tlsCert: cert, tlsKey: key, tlsClientCa: clientCa, socket }: TlsGiven, faults: string[]): TlsFiles | undefined {
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined;
  if (socket !== undefined)
    faults.push('--socket: no TLS is spoken there, as it does not leave this machine; leave --tls-cert and the others out');
  else if (cert === undefined) faults.push('--tls-cert: which one? TLS needs the certificate and its key: --tls-cert FILE --tls-key FILE');
  else if (key === undefined) faults.push('--tls-key: which one? TLS needs the certificate and its key: --tls-cert FILE --tls-key FILE');
  return cert === undefined || key === undefined ? undefined : { cert, key, clientCa };
}

/** @throws SettingError naming every setting that is faulty */
export function configOf({ values, faults: found }: Reading<typeof serveSettings>): Config {
  const faults = [...found];
  const { redis, weight, webhook: url, webhookSecret, ...settings } = values;
  const { rules, database, cache, host, httpPort, secret, storeToken, logLevel, deadline: deadlineMs, fleetSize, notes } = settings;
  const { socket, opsPort, workers, drain: drainMs, stopWithin: stopWithinMs } = settings;
  if (database !== undefined && rules !== undefined)
    faults.push('--rules and --database: rules come from one of them; headgate rules import FILE moves a file over');
  if (url !== undefined && webhookSecret === undefined)
    faults.push('--webhook: needs HEADGATE_WEBHOOK_SECRET, at least 16 characters, by which the receiver knows that it is us');
  const webhook = url === undefined || webhookSecret === undefined ? undefined : { url, secret: webhookSecret };
  const servers = readRedisServers(redis, weight, faults);
  const tls = readTls(settings, faults);
  if (workers > 1 && servers.length === 0 && redis.texts.length === 0)
    faults.push(
      `--workers: ${workers} processes would each have counters of their own; add --redis URL for one limit over all of them, or leave it out`,
    );
  assertFaultless(faults);
  return {
    ...{ rules, database, cache, webhook, redis: servers, secret, storeToken, logLevel, deadlineMs, notes },
    fleetSize: processesOf(fleetSize, workers),
    ...{ host, httpPort, socket, opsPort, tls, workers, drainMs, stopWithinMs },
    otlp: otlpOf(values),
  };
}

/** @throws SettingError naming every setting that is faulty */
export const readConfig = (args: readonly string[], env?: Environment): Config => configOf(readServeSettings(args, env));
