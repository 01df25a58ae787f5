import { readRedisServers, splitServers, splitWeights, type RedisServer } from './redis-servers.js';
import { Settings } from './settings.js';

export { readRedisUrl, SettingError, type RedisAddress } from './redis-address.js';
export type { RedisServer } from './redis-servers.js';

/** All settings of `headgate serve`. */
export interface Config {
  readonly rules: string | undefined;
  /** Where the counters are: in this process if empty, in one Redis, or in several by name that share the keys. */
  readonly redis: readonly RedisServer[];
  readonly host: string;
  readonly httpPort: number;
  /** Of decision ids; servers that take back each other's share it. */
  readonly secret: string | undefined;
  readonly logLevel: string;
  /** By when a decision is answered, whatever Redis does, in milliseconds; undefined: the library's default. */
  readonly deadlineMs: number | undefined;
  /** Processes that share the counters, until Redis has told; undefined: the library's default. */
  readonly fleetSize: number | undefined;
  /** Refused keys remembered at once; undefined: the library's default. */
  readonly notes: number | undefined;
}

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

/**
 * Settings from flags, else from the environment (`HEADGATE_RULES`, `HEADGATE_REDIS`, `HEADGATE_WEIGHT`, `HEADGATE_FLEET_SIZE`,
 * `HEADGATE_HTTP_PORT`, `HEADGATE_HOST`, `HEADGATE_SECRET`, `HEADGATE_LOG_LEVEL`, `HEADGATE_DEADLINE`, `HEADGATE_NOTES`), else the
 * defaults. The only reader of the environment.
 *
 * @throws SettingError naming every setting that is faulty
 */
export function readConfig(args: readonly string[], env: NodeJS.ProcessEnv = process.env): Config {
  const flags = { rules: 'value', redis: 'values', weight: 'values', 'fleet-size': 'value', 'http-port': 'value', host: 'value' } as const;
  const settings = new Settings({ name: 'serve', flags }, args, env);
  const { text: secret } = settings.variable('HEADGATE_SECRET');
  if (secret !== undefined && secret.length < 16)
    settings.faults.push('HEADGATE_SECRET: expected at least 16 characters (the value is not shown)');
  const servers = settings.several('redis', splitServers);
  const config: Config = {
    rules: settings.text('rules'),
    redis: readRedisServers(servers, settings.several('weight', splitWeights), settings.faults),
    host: settings.text('host') ?? '127.0.0.1',
    httpPort: settings.whole(settings.find('http-port'), [0, 65_535], 'a port') ?? 8080,
    secret,
    logLevel: settings.oneOf(settings.variable('HEADGATE_LOG_LEVEL'), levels) ?? 'info',
    deadlineMs: settings.deadline(settings.variable('HEADGATE_DEADLINE')),
    fleetSize: settings.whole(settings.find('fleet-size'), [1, 100_000]),
    notes: settings.whole(settings.variable('HEADGATE_NOTES'), [0, 10_000_000]),
  };
  settings.assertFaultless();
  return config;
}

/** All settings of `headgate doctor`. */
export interface DoctorConfig {
  /** At least one. */
  readonly redis: readonly RedisServer[];
  readonly json: boolean;
  readonly prefix: string;
  readonly deadlineMs: number;
  /** Whether a terminal may be given colours (`NO_COLOR`). */
  readonly color: boolean;
}

/**
 * Settings of the doctor, from the same places.
 *
 * @throws SettingError naming every setting that is faulty
 */
export function readDoctorConfig(args: readonly string[], env: NodeJS.ProcessEnv = process.env): DoctorConfig {
  const settings = new Settings({ name: 'doctor', flags: { redis: 'values', json: 'switch', prefix: 'value' } }, args, env);
  const servers = settings.several('redis', splitServers);
  // After a fault of the flags it may well have been given: one mistake is one fault.
  if (servers.texts.length === 0 && settings.faults.length === 0)
    settings.faults.push('--redis: which one? For instance --redis redis://127.0.0.1:6379');
  const prefix = settings.given('prefix') ?? 'hg';
  if (prefix === '' || prefix.length > 64 || !prefix.isWellFormed()) settings.faults.push('--prefix: expected 1 to 64 characters');
  const config: DoctorConfig = {
    redis: readRedisServers(servers, { where: '--weight', texts: [] }, settings.faults),
    json: settings.given('json') !== undefined,
    prefix,
    deadlineMs: settings.deadline(settings.variable('HEADGATE_DEADLINE')) ?? 10,
    color: (env['NO_COLOR'] ?? '') === '',
  };
  settings.assertFaultless();
  return config;
}
