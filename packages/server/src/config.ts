import { parseArgs } from 'node:util';

/** Where Redis is. */
export interface RedisAddress {
  readonly kind: 'single' | 'cluster' | 'sentinel';
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  /** The master's name, for Sentinel. */
  readonly name: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  readonly tls: boolean;
}

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

/** A setting that cannot be used. The process ends with 78 (EX_CONFIG). */
export class SettingError extends Error {
  override readonly name = 'SettingError';
}

const schemes: Record<string, { kind: RedisAddress['kind']; tls: boolean }> = {
  redis: { kind: 'single', tls: false },
  rediss: { kind: 'single', tls: true },
  'redis+cluster': { kind: 'cluster', tls: false },
  'rediss+cluster': { kind: 'cluster', tls: true },
  'redis+sentinel': { kind: 'sentinel', tls: false },
  'rediss+sentinel': { kind: 'sentinel', tls: true },
};

/** Percent-decodes; in a URL of ours, so what cannot be decoded is a mistake. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new SettingError('--redis: user, password or name has a "%" that is no percent-encoding; write %25 for it');
  }
}

const shapes = 'redis://host:6379, rediss://host, redis+cluster://h1:7000,h2:7000 or redis+sentinel://h1:26379,h2:26379/NAME';

/** Reads a Redis URL; a list of hosts is more than `URL` takes. Errors show no part of it: any may be a password that was not encoded. */
export function readRedisUrl(text: string): RedisAddress {
  const match = /^([a-z+]+):\/\/(?:([^@/]*)@)?([^/@]+)(?:\/([^/]*))?$/.exec(text);
  const scheme = schemes[match?.[1] ?? ''];
  if (!match || !scheme) throw new SettingError(`--redis: not an address that can be used; write ${shapes}`);
  const [, , login, hosts = '', path = ''] = match;
  const [username, ...rest] = login === undefined ? [] : login.split(':');
  const usualPort = scheme.kind === 'sentinel' ? 26379 : 6379;
  const nodes = hosts.split(',').map((host, index) => {
    const part = /^(\[[0-9a-fA-F:]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(host);
    const port = part?.[2] === undefined ? usualPort : Number(part[2]);
    if (!part || port < 1 || port > 65_535) {
      throw new SettingError(
        `--redis: host number ${index + 1} is no host or host:port; write ${shapes}; in a password write %40 for @, %2F for /`,
      );
    }
    return { host: (part[1] ?? '').replace(/^\[|\]$/g, ''), port };
  });
  if (scheme.kind === 'single' && nodes.length > 1)
    throw new SettingError(`--redis: several hosts need redis+cluster:// or redis+sentinel://; write ${shapes}`);
  if (scheme.kind === 'sentinel' && path === '')
    throw new SettingError("--redis: Sentinel needs the master's name: redis+sentinel://h1,h2/NAME");
  if (scheme.kind === 'cluster' && path !== '' && path !== '0')
    throw new SettingError('--redis: a Cluster has no databases; leave the path out');
  if (scheme.kind !== 'sentinel' && !/^\d{0,3}$/.test(path)) throw new SettingError('--redis: what follows the host is no database number');
  return {
    kind: scheme.kind,
    tls: scheme.tls,
    nodes,
    name: scheme.kind === 'sentinel' ? decoded(path) : undefined,
    username: username === undefined || username === '' ? undefined : decoded(username),
    password: rest.length === 0 ? undefined : decoded(rest.join(':')),
    database: scheme.kind === 'single' ? Number(path) : 0,
  };
}

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

function readDeadline(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, number, unit] = /^(\d{1,5})(ms|s)$/.exec(text) ?? [];
  const ms = Number(number) * (unit === 's' ? 1000 : 1);
  if (ms >= 1 && ms <= 60_000) return ms;
  throw new SettingError(`HEADGATE_DEADLINE: expected 1ms to 60s, such as "10ms"; got ${JSON.stringify(text)}`);
}

/**
 * Settings from flags, else from the environment (`HEADGATE_RULES`, `HEADGATE_REDIS`, `HEADGATE_HTTP_PORT`, `HEADGATE_HOST`,
 * `HEADGATE_SECRET`, `HEADGATE_LOG_LEVEL`, `HEADGATE_DEADLINE`), else the defaults. The only reader of the environment.
 *
 * @throws SettingError naming the setting
 */
export function readConfig(args: readonly string[], env: NodeJS.ProcessEnv = process.env): Config {
  let flags: Record<string, string | boolean | undefined>;
  try {
    flags = parseArgs({
      args: [...args],
      options: { rules: { type: 'string' }, redis: { type: 'string' }, 'http-port': { type: 'string' }, host: { type: 'string' } },
    }).values;
  } catch (error) {
    // A stray argument may be a Redis URL whose flag was forgotten: with a password in it.
    const { message, code } = error as NodeJS.ErrnoException;
    const fault = code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL' ? 'an argument without a flag' : message.split('.')[0];
    throw new SettingError(`${fault}; see headgate help serve`);
  }
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
