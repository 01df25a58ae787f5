import { resolve } from 'node:path';
import { SettingError } from '../redis-address.js';

/** A database in a file of this machine. */
export interface SqliteAddress {
  readonly kind: 'sqlite';
  /** Absolute. */
  readonly file: string;
}

/** A database that servers share. */
export interface PostgresAddress {
  readonly kind: 'postgres';
  /** A host, or the folder of a socket (it begins with `/`). */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** The schema that all tables are in. */
  readonly schema: string;
  /** Undefined: not encrypted. */
  readonly tls: PostgresTls | undefined;
}

export interface PostgresTls {
  /** What of the server's certificate is checked: nothing, that an authority signed it, or also that it is this host's. */
  readonly verify: 'nothing' | 'authority' | 'host';
  /** A file with the authorities that are trusted; undefined: those of Node. */
  readonly authorities: string | undefined;
}

export type DatabaseAddress = SqliteAddress | PostgresAddress;

const shapes = 'sqlite:/var/lib/headgate/rules.db or postgres://user:password@host:5432/database';
const encoded = 'in user and password write %40 for @, %2F for /, %3A for :';
const modes: Record<string, PostgresTls['verify'] | undefined> = { require: 'nothing', 'verify-ca': 'authority', 'verify-full': 'host' };
const parameters = ['sslmode', 'sslrootcert', 'schema'];

function decoded(text: string, where: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new SettingError(`${where}: user, password, host or name has a "%" that is no percent-encoding; write %25 for it`);
  }
}

function readSqlite(rest: string, where: string): SqliteAddress {
  const path = rest.startsWith('//') ? rest.slice(2) : rest;
  if (path === '' || path === ':memory:') {
    throw new SettingError(`${where}: sqlite needs a file, as several connections look at it: sqlite:/var/lib/headgate/rules.db`);
  }
  if (rest.startsWith('//') && !path.startsWith('/'))
    throw new SettingError(
      `${where}: after sqlite:// comes an absolute path, sqlite:///var/lib/x.db; write sqlite:x.db for a relative one`,
    );
  if (/[?#\0]/.test(path)) throw new SettingError(`${where}: sqlite takes a path and no parameters; leave out what begins with "?" or "#"`);
  return { kind: 'sqlite', file: resolve(path) };
}

function readParameters(text: string, where: string): Pick<PostgresAddress, 'schema' | 'tls'> {
  const given = new Map<string, string>();
  for (const [index, pair] of text.split('&').filter(Boolean).entries()) {
    const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(pair) ?? [];
    // Its name is not shown either: it may be a part of a password.
    if (!parameters.includes(name))
      throw new SettingError(`${where}: parameter number ${index + 1} is not known; those known are ${parameters.join(', ')}`);
    given.set(name, decoded(value, where));
  }
  const mode = given.get('sslmode') ?? 'disable';
  const verify = modes[mode];
  if (mode !== 'disable' && verify === undefined) {
    throw new SettingError(`${where}: sslmode is disable, require (encrypted, certificate not checked), verify-ca or verify-full`);
  }
  const authorities = given.get('sslrootcert');
  if (authorities !== undefined && (verify === undefined || verify === 'nothing'))
    throw new SettingError(`${where}: sslrootcert checks a certificate; add sslmode=verify-full`);
  const schema = given.get('schema') ?? 'headgate';
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema) || schema.startsWith('pg_'))
    throw new SettingError(`${where}: schema is 1 to 63 of a-z, 0-9 and "_", not first a digit or "pg_"`);
  return { schema, tls: verify === undefined ? undefined : { verify, authorities } };
}

/**
 * Reads where the database is: `sqlite:PATH`, or `postgres://[user[:password]@]host[:port]/database` with the parameters `sslmode`
 * (`disable`, the default, `require`, `verify-ca`, `verify-full`), `sslrootcert=FILE` and `schema` (`headgate`).
 *
 * @throws SettingError that shows no part of it: any may be a password that was not encoded
 */
export function readDatabaseUrl(text: string, where = '--database'): DatabaseAddress {
  if (text.startsWith('sqlite:')) return readSqlite(text.slice('sqlite:'.length), where);
  const match = /^postgres(?:ql)?:\/\/(?:([^@/]*)@)?([^/@?]+)(?:\/([^/?]*))?(?:\?(.*))?$/s.exec(text);
  if (!match) throw new SettingError(`${where}: not an address that can be used; write ${shapes}; ${encoded}`);
  const [, login, place = '', name = '', query = ''] = match;
  if (place.includes(',')) throw new SettingError(`${where}: one host only; put a proxy or a name that moves before several`);
  const part = /^(\[[0-9a-fA-F:]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(place);
  const port = part?.[2] === undefined ? 5432 : Number(part[2]);
  if (!part || port < 1 || port > 65_535) throw new SettingError(`${where}: no host or host:port; write ${shapes}; ${encoded}`);
  if (name === '') throw new SettingError(`${where}: which database? Write ${shapes}`);
  const [username, ...rest] = login === undefined ? [] : login.split(':');
  return {
    kind: 'postgres',
    host: decoded((part[1] ?? '').replace(/^\[|\]$/g, ''), where),
    port,
    database: decoded(name, where),
    username: username === undefined || username === '' ? undefined : decoded(username, where),
    password: rest.length === 0 ? undefined : decoded(rest.join(':'), where),
    ...readParameters(query, where),
  };
}

/** As it may be shown: without user and password, as the user may be a password whose colon was forgotten. */
export function showDatabase(address: DatabaseAddress): string {
  if (address.kind === 'sqlite') return `sqlite:${address.file}`;
  const { host, port, database, username, password, schema } = address;
  const login = username === undefined && password === undefined ? '' : '***@';
  const place = host.includes(':') ? `[${host}]` : encodeURIComponent(host);
  return `postgres://${login}${place}:${port}/${encodeURIComponent(database)}${schema === 'headgate' ? '' : `?schema=${schema}`}`;
}
