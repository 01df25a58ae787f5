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

/** Settings that cannot be used, a line for each fault. The process ends with 78 (EX_CONFIG). */
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
function decoded(text: string, where: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new SettingError(`${where}: user, password or name has a "%" that is no percent-encoding; write %25 for it`);
  }
}

const shapes = 'redis://host:6379, rediss://host, redis+cluster://h1:7000,h2:7000 or redis+sentinel://h1:26379,h2:26379/NAME';

/** Reads a Redis URL; a list of hosts is more than `URL` takes. Errors show no part of it: any may be a password that was not encoded. */
export function readRedisUrl(text: string, where = '--redis'): RedisAddress {
  const match = /^([a-z+]+):\/\/(?:([^@/]*)@)?([^/@]+)(?:\/([^/]*))?$/.exec(text);
  const scheme = schemes[match?.[1] ?? ''];
  if (!match || !scheme) throw new SettingError(`${where}: not an address that can be used; write ${shapes}`);
  const [, , login, hosts = '', path = ''] = match;
  const [username, ...rest] = login === undefined ? [] : login.split(':');
  const usualPort = scheme.kind === 'sentinel' ? 26379 : 6379;
  const nodes = hosts.split(',').map((host, index) => {
    const part = /^(\[[0-9a-fA-F:]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(host);
    const port = part?.[2] === undefined ? usualPort : Number(part[2]);
    if (!part || port < 1 || port > 65_535) {
      throw new SettingError(
        `${where}: host number ${index + 1} is no host or host:port; write ${shapes}; in a password write %40 for @, %2F for /`,
      );
    }
    return { host: (part[1] ?? '').replace(/^\[|\]$/g, ''), port };
  });
  if (scheme.kind === 'single' && nodes.length > 1)
    throw new SettingError(`${where}: several hosts need redis+cluster:// or redis+sentinel://; write ${shapes}`);
  if (scheme.kind === 'sentinel' && path === '')
    throw new SettingError(`${where}: Sentinel needs the master's name: redis+sentinel://h1,h2/NAME`);
  if (scheme.kind === 'cluster' && path !== '' && path !== '0')
    throw new SettingError(`${where}: a Cluster has no databases; leave the path out`);
  if (scheme.kind !== 'sentinel' && !/^\d{0,3}$/.test(path))
    throw new SettingError(`${where}: what follows the host is no database number`);
  return {
    kind: scheme.kind,
    tls: scheme.tls,
    nodes,
    name: scheme.kind === 'sentinel' ? decoded(path, where) : undefined,
    username: username === undefined || username === '' ? undefined : decoded(username, where),
    password: rest.length === 0 ? undefined : decoded(rest.join(':'), where),
    database: scheme.kind === 'single' ? Number(path) : 0,
  };
}

/** As it may be shown: without user and password, as the user may be a password whose colon was forgotten. */
export function showRedisAddress({ kind, tls, nodes, username, password, name, database }: RedisAddress): string {
  const scheme = Object.entries(schemes).find(([, each]) => each.kind === kind && each.tls === tls)?.[0] ?? 'redis';
  const login = username === undefined && password === undefined ? '' : '***@';
  const hosts = nodes.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',');
  const path = kind === 'sentinel' ? `/${encodeURIComponent(name ?? '')}` : database === 0 ? '' : `/${database}`;
  return `${scheme}://${login}${hosts}${path}`;
}
