import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDatabaseUrl, showDatabase } from '../src/database/address.js';

const plain = {
  kind: 'postgres',
  host: 'h',
  port: 5432,
  database: 'd',
  username: undefined,
  password: undefined,
  schema: 'headgate',
  tls: undefined,
};

describe("a database's address", () => {
  it('is a file of SQLite', () => {
    expect(readDatabaseUrl('sqlite:/var/lib/x.db')).toEqual({ kind: 'sqlite', file: '/var/lib/x.db' });
    expect(readDatabaseUrl('sqlite:///var/lib/x y.db')).toEqual({ kind: 'sqlite', file: '/var/lib/x y.db' });
    // Never what libsql would take for a server elsewhere.
    for (const path of ['x.db', './x.db', 'http:x', 'libsql:x', 'file:x'])
      expect(readDatabaseUrl(`sqlite:${path}`)).toEqual({ kind: 'sqlite', file: resolve(path) });
  });

  it('is PostgreSQL, by either scheme', () => {
    expect(readDatabaseUrl('postgres://h/d')).toEqual(plain);
    expect(readDatabaseUrl('postgresql://u:p%40%2F:x@h:6432/d%20b?schema=limits&sslmode=verify-full&sslrootcert=/ca%20s.pem')).toEqual({
      ...plain,
      ...{ port: 6432, database: 'd b', username: 'u', password: 'p@/:x', schema: 'limits' },
      tls: { verify: 'host', authorities: '/ca s.pem' },
    });
    expect(readDatabaseUrl('postgres://[2001:db8::1]:1/d')).toMatchObject({ host: '2001:db8::1', port: 1 });
    expect(readDatabaseUrl('postgres://%2Frun%2Fpostgresql/d')).toMatchObject({ host: '/run/postgresql' });
    const verified = (mode: string) => (readDatabaseUrl(`postgres://h/d?sslmode=${mode}`) as { tls?: { verify: string } }).tls?.verify;
    expect(['disable', 'require', 'verify-ca', 'verify-full'].map(verified)).toEqual([undefined, 'nothing', 'authority', 'host']);
  });

  it('is shown without user and password', () => {
    const shown = (text: string) => showDatabase(readDatabaseUrl(text));
    expect(shown('postgres://user:secret@h/d?sslmode=require')).toBe('postgres://***@h:5432/d');
    expect(shown('postgres://secret@h/d')).toBe('postgres://***@h:5432/d');
    expect(shown('postgres://h/d?schema=limits')).toBe('postgres://h:5432/d?schema=limits');
    expect(shown('postgres://[::1]/d')).toBe('postgres://[::1]:5432/d');
    expect(shown('sqlite:/x.db')).toBe('sqlite:/x.db');
  });

  it('that cannot be used is told with the mend, and no part of it, as any may be a password', () => {
    for (const [text, told] of [
      ['', /^--database: not an address that can be used; write sqlite:.* or postgres:\/\//],
      ['mysql://secret@h/d', /not an address/],
      ['postgres:secret', /not an address/],
      ['postgres://h', /which database\? Write/],
      ['postgres://u:secret@/d', /not an address/],
      ['postgres://u:se/cret@h/d', /not an address that can be used; .*; in user and password write %40 for @, %2F for \//],
      ['postgres://u:se@cret@h/d', /not an address/],
      ['postgres://u:secret@h:0/d', /no host or host:port/],
      ['postgres://u:secret@h:65536/d', /no host or host:port/],
      ['postgres://u:secret@h1,h2/d', /one host only/],
      ['postgres://u:%secret@h/d', /write %25 for it/],
      ['postgres://u@h/d?secret=1', /parameter number 1 is not known; those known are sslmode, sslrootcert, schema/],
      ['postgres://u@h/d?sslmode=secret', /sslmode is disable, require/],
      ['postgres://u@h/d?sslmode=require&sslrootcert=secret', /add sslmode=verify-full/],
      ['postgres://u@h/d?schema=Secret', /schema is 1 to 63 of a-z/],
      ['postgres://u@h/d?schema=pg_secret', /schema is/],
      ['postgres://u@h/d?schema=a;drop secret', /schema is/],
      ['sqlite:', /sqlite needs a file/],
      ['sqlite::memory:', /sqlite needs a file, as several connections look at it/],
      ['sqlite://secret/x.db', /write sqlite:x\.db for a relative one/],
      ['sqlite:/x.db?secret', /a path and no parameters/],
    ] as const) {
      let message = '';
      try {
        readDatabaseUrl(text);
      } catch (error) {
        expect((error as Error).name).toBe('SettingError');
        ({ message } = error as Error);
      }
      expect(message, text).toMatch(told);
      expect(message, text).not.toMatch(/secret/i);
    }
    expect(() => readDatabaseUrl('x', 'HEADGATE_DATABASE')).toThrow(/^HEADGATE_DATABASE: /);
  });
});
