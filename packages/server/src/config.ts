import { userInfo } from 'node:os';
import { readDatabaseUrl, type DatabaseAddress } from './database/address.js';
import { readRedisServers, splitServers, splitWeights, type RedisServer } from './redis-servers.js';
import { SettingError } from './redis-address.js';
import { Settings, type Found } from './settings.js';

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

function readDatabase({ where, text }: Found, faults: string[]): DatabaseAddress | undefined {
  if (text === undefined) return undefined;
  try {
    return readDatabaseUrl(text, where);
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    faults.push(error.message);
    return undefined;
  }
}

function readWebhook(settings: Settings): Config['webhook'] {
  const { where, text: url } = settings.find('webhook');
  const { text: secret } = settings.variable('HEADGATE_WEBHOOK_SECRET');
  if (url === undefined) return undefined;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    settings.faults.push(`${where}: expected a URL such as https://billing.example.com/hooks/headgate (the value is not shown)`);
    return undefined;
  }
  if (new URL(url).username !== '' || new URL(url).password !== '') {
    settings.faults.push(
      `${where}: expected no user and password in the URL; the receiver knows us by the signature (the value is not shown)`,
    );
    return undefined;
  }
  if (secret === undefined || secret.length < 16) {
    settings.faults.push(`${where}: needs HEADGATE_WEBHOOK_SECRET, at least 16 characters, by which the receiver knows that it is us`);
    return undefined;
  }
  return { url, secret };
}

/**
 * Settings from flags, else from the environment (`HEADGATE_RULES`, `HEADGATE_DATABASE`, `HEADGATE_CACHE`, `HEADGATE_REDIS`, `HEADGATE_WEIGHT`, `HEADGATE_FLEET_SIZE`,
 * `HEADGATE_HTTP_PORT`, `HEADGATE_HOST`, `HEADGATE_SECRET`, `HEADGATE_LOG_LEVEL`, `HEADGATE_DEADLINE`, `HEADGATE_NOTES`,
 * `HEADGATE_WEBHOOK`, `HEADGATE_WEBHOOK_SECRET`), else the
 * defaults. The only reader of the environment.
 *
 * @throws SettingError naming every setting that is faulty
 */
export function readConfig(args: readonly string[], env: NodeJS.ProcessEnv = process.env): Config {
  const flags = {
    rules: 'value',
    database: 'value',
    cache: 'value',
    webhook: 'value',
    redis: 'values',
    weight: 'values',
    'fleet-size': 'value',
    'http-port': 'value',
    host: 'value',
  } as const;
  const settings = new Settings({ name: 'serve', flags }, args, env);
  const { text: secret } = settings.variable('HEADGATE_SECRET');
  if (secret !== undefined && secret.length < 16)
    settings.faults.push('HEADGATE_SECRET: expected at least 16 characters (the value is not shown)');
  const servers = settings.several('redis', splitServers);
  const database = settings.find('database');
  if (database.text !== undefined && settings.text('rules') !== undefined)
    settings.faults.push('--rules and --database: rules come from one of them; headgate rules import FILE moves a file over');
  const config: Config = {
    rules: settings.text('rules'),
    database: readDatabase(database, settings.faults),
    cache: settings.text('cache'),
    webhook: readWebhook(settings),
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

/** Settings of `headgate rules` and `headgate token`, for what is in the database. */
export interface RulesConfig {
  readonly database: DatabaseAddress;
  /** What was written after the verb: a file, versions, a rule's name. */
  readonly operands: readonly string[];
  readonly author: string;
  readonly reason: string;
  readonly limit: number;
  readonly role: string | undefined;
  readonly all: boolean;
  readonly off: boolean;
  readonly clear: boolean;
}

function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}

/**
 * Settings of a verb that works on the database, with as many operands as it takes.
 *
 * @throws SettingError naming every setting that is faulty
 */
export function readRulesConfig(
  args: readonly string[],
  [least, most]: readonly [number, number],
  env: NodeJS.ProcessEnv = process.env,
): RulesConfig {
  const end = args.findIndex((arg) => arg.startsWith('-'));
  const operands = end < 0 ? args : args.slice(0, end);
  const flags = {
    database: 'value',
    author: 'value',
    reason: 'value',
    limit: 'value',
    role: 'value',
    all: 'switch',
    off: 'switch',
    clear: 'switch',
  } as const;
  const settings = new Settings({ name: 'rules', flags }, end < 0 ? [] : args.slice(end), env);
  if (operands.length < least || operands.length > most) {
    const wanted = least === most ? `${least}` : `${least} to ${most}`;
    settings.faults.push(`expected ${wanted} arguments before the flags; got ${operands.length}; see headgate help rules`);
  }
  const found = settings.find('database');
  const database = readDatabase(found, settings.faults);
  if (found.text === undefined) settings.faults.push('--database: which one? For instance --database sqlite:/var/lib/headgate/rules.db');
  const config = {
    operands,
    author: settings.text('author') ?? systemUser(),
    reason: settings.given('reason') ?? '',
    limit: settings.whole(settings.find('limit'), [1, 200]) ?? 20,
    role: settings.given('role'),
    all: settings.given('all') !== undefined,
    off: settings.given('off') !== undefined,
    clear: settings.given('clear') !== undefined,
  };
  settings.assertFaultless();
  if (database === undefined) throw new SettingError('--database: which one?');
  return { ...config, database };
}
