import { parseArgs } from 'node:util';
import { readRedisUrl, SettingError, type RedisAddress } from './redis-address.js';

export { readRedisUrl, SettingError, type RedisAddress } from './redis-address.js';

/** All settings of `headgate serve`. */
export interface Config {
  readonly rules: string | undefined;
  readonly redis: RedisAddress | undefined;
  readonly host: string;
  readonly httpPort: number;
  /** Of decision ids; servers that take back each other's share it. */
  readonly secret: string | undefined;
  readonly logLevel: string;
  /** By when a decision is answered, whatever Redis does, in milliseconds; undefined: the library's default. */
  readonly deadlineMs: number | undefined;
}

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

function readDeadline(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, number, unit] = /^(\d{1,5})(ms|s)$/.exec(text) ?? [];
  const ms = Number(number) * (unit === 's' ? 1000 : 1);
  if (ms >= 1 && ms <= 60_000) return ms;
  throw new SettingError(`HEADGATE_DEADLINE: expected 1ms to 60s, such as "10ms"; got ${JSON.stringify(text)}`);
}

type Flags = NonNullable<Parameters<typeof parseArgs>[0]>['options'];

/** Flags by their names; errors show no argument. */
function readFlags(command: string, args: readonly string[], options: NonNullable<Flags>): Record<string, unknown> {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    // A stray argument may be a Redis URL whose flag was forgotten: with a password in it.
    const { message, code } = error as NodeJS.ErrnoException;
    const fault = code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL' ? 'an argument without a flag' : message.split('.')[0];
    throw new SettingError(`${fault}; see headgate help ${command}`);
  }
}

/**
 * Settings from flags, else from the environment (`HEADGATE_RULES`, `HEADGATE_REDIS`, `HEADGATE_HTTP_PORT`, `HEADGATE_HOST`,
 * `HEADGATE_SECRET`, `HEADGATE_LOG_LEVEL`, `HEADGATE_DEADLINE`), else the defaults. The only reader of the environment.
 *
 * @throws SettingError naming the setting
 */
export function readConfig(args: readonly string[], env: NodeJS.ProcessEnv = process.env): Config {
  const flags = readFlags('serve', args, {
    rules: { type: 'string' },
    redis: { type: 'string' },
    'http-port': { type: 'string' },
    host: { type: 'string' },
  });
  const setting = (flag: string, variable: string): string | undefined => {
    const value = flags[flag] ?? env[variable];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const port = setting('http-port', 'HEADGATE_HTTP_PORT') ?? '8080';
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw new SettingError(`--http-port: expected a port from 0 to 65535; got ${JSON.stringify(port)}`);
  const logLevel = env['HEADGATE_LOG_LEVEL'] ?? 'info';
  if (!levels.includes(logLevel))
    throw new SettingError(`HEADGATE_LOG_LEVEL: expected one of ${levels.join(', ')}; got ${JSON.stringify(logLevel)}`);
  const secret = env['HEADGATE_SECRET'];
  if (secret !== undefined && secret.length < 16)
    throw new SettingError('HEADGATE_SECRET: expected at least 16 characters (the value is not shown)');
  const redis = setting('redis', 'HEADGATE_REDIS');
  return {
    rules: setting('rules', 'HEADGATE_RULES'),
    redis: redis === undefined ? undefined : readRedisUrl(redis),
    host: setting('host', 'HEADGATE_HOST') ?? '127.0.0.1',
    httpPort: Number(port),
    secret,
    logLevel,
    deadlineMs: readDeadline(env['HEADGATE_DEADLINE']),
  };
}

/** All settings of `headgate doctor`. */
export interface DoctorConfig {
  readonly redis: RedisAddress;
  readonly json: boolean;
  readonly prefix: string;
  readonly deadlineMs: number;
  /** Whether a terminal may be given colours (`NO_COLOR`). */
  readonly color: boolean;
}

/**
 * Settings of the doctor, from the same places.
 *
 * @throws SettingError naming the setting
 */
export function readDoctorConfig(args: readonly string[], env: NodeJS.ProcessEnv = process.env): DoctorConfig {
  const flags = readFlags('doctor', args, { redis: { type: 'string' }, json: { type: 'boolean' }, prefix: { type: 'string' } });
  const redis = flags['redis'] ?? env['HEADGATE_REDIS'];
  if (typeof redis !== 'string' || redis === '') throw new SettingError('--redis: which one? For instance --redis redis://127.0.0.1:6379');
  const prefix = typeof flags['prefix'] === 'string' ? flags['prefix'] : 'hg';
  if (prefix === '' || prefix.length > 64 || !prefix.isWellFormed()) throw new SettingError('--prefix: expected 1 to 64 characters');
  return {
    redis: readRedisUrl(redis),
    json: flags['json'] === true,
    prefix,
    deadlineMs: readDeadline(env['HEADGATE_DEADLINE']) ?? 10,
    color: (env['NO_COLOR'] ?? '') === '',
  };
}
