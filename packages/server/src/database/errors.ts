/**
 * Why the database did not do it:
 * `unreachable` (not there, or the way is cut; it may come back), `refused` (it is there and will not have us),
 * `newer` (made by a newer Headgate), `busy` (others held it, or it took too long), `full`, `damaged`, `failed` (anything else).
 */
export type DatabaseTrouble = 'unreachable' | 'refused' | 'newer' | 'busy' | 'full' | 'damaged' | 'failed';

/** The database could not be used. The message names it without user and password, and says how to mend it; nothing was written. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';
  readonly trouble: DatabaseTrouble;
  constructor(trouble: DatabaseTrouble, message: string) {
    super(message);
    this.trouble = trouble;
  }
}

type Explained = readonly [trouble: DatabaseTrouble, told: string];

const away = (why: string): Explained => ['unreachable', `${why}; is it running, and is the address right?`];
const schemaRights = 'let it use and create: GRANT USAGE, CREATE ON SCHEMA to the user, and CREATE ON DATABASE unless the schema is there';

/** By the code of the system, of PostgreSQL (SQLSTATE) or of SQLite, the longer before the shorter. */
const byCode: readonly (readonly [start: string, explained: Explained])[] = [
  ['ECONNREFUSED', away('no server listens there')],
  ['ENOTFOUND', away('its host has no address')],
  ['EAI_AGAIN', away('its host cannot be looked up now')],
  ['ENOENT', away('there is no such socket')],
  ['ECONNRESET', away('the connection was cut')],
  ['EPIPE', away('the connection was cut')],
  ['ETIMEDOUT', away('it does not answer')],
  ['EHOSTUNREACH', away('its host cannot be reached')],
  ['ENETUNREACH', away('its network cannot be reached')],
  ['28', ['refused', 'it does not take this user or password; mend them in the address, or pg_hba.conf']],
  ['25006', ['refused', 'it takes no writes, as a standby does; put the address of the primary']],
  ['3D000', ['refused', 'there is no database of this name; create it: createdb NAME']],
  ['42P01', ['damaged', 'its tables are not what they were when this server began; restart it to bring them up to date']],
  ['42501', ['refused', `the user may not do this; ${schemaRights}`]],
  ['53100', ['full', "the server's disk is full; make room"]],
  ['53300', ['unreachable', 'it has no connection left; raise max_connections, each server of Headgate holds up to 3']],
  ['57014', ['busy', 'a statement took too long and was ended; nothing was written']],
  ['55P03', ['busy', 'another held it too long; try again']],
  ['40', ['busy', 'another wrote at the same time; try again']],
  ['57P', away('it is starting or stopping')],
  ['08', away('the connection was cut')],
  ['SQLITE_BUSY', ['busy', 'another process held it too long; try again, and look for one that hangs in a transaction']],
  ['SQLITE_LOCKED', ['busy', 'another process held it too long; try again']],
  ['SQLITE_CANTOPEN', ['unreachable', 'the file cannot be opened; are its folder there and both writable?']],
  ['SQLITE_READONLY', ['refused', 'the file cannot be written; give this user the right to write it and its folder']],
  ['SQLITE_PERM', ['refused', 'the file may not be used; give this user the right to read and write it']],
  ['SQLITE_FULL', ['full', 'the disk is full; make room']],
  ['SQLITE_NOTADB', ['damaged', 'the file is no SQLite database; is it the right one?']],
  ['SQLITE_CORRUPT', ['damaged', 'the file is damaged; put a backup in its place']],
  ['SQLITE_IOERR', ['unreachable', 'the file cannot be read or written (I/O error); look at the disk']],
];

/** What drivers say without a code, or with one that says little. */
const byText: readonly (readonly [shape: RegExp, explained: Explained])[] = [
  [
    /timeout exceeded when trying to connect|connection timeout|Connection terminated|timeout expired|not queryable/i,
    away('it does not answer'),
  ],
  [/no such table/i, ['damaged', 'its tables are not what they were when this server began; restart it to bring them up to date']],
  [/Query read timeout/i, away('it did not answer in time')],
  [/does not support SSL/i, ['refused', 'it speaks no TLS; set it up there, or leave sslmode out']],
  [/password must be a string/i, ['refused', 'it asks for a password; put one into the address, user:password@host']],
  [/Unable to open connection to local database/i, ['unreachable', 'the file cannot be opened; are its folder there and both writable?']],
];

const tlsCode = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH)/;

function explained(error: { readonly code?: unknown; readonly message?: unknown }): Explained {
  const code = typeof error.code === 'string' ? error.code : '';
  const message = String(error.message);
  const known = byCode.find(([start]) => code.startsWith(start)) ?? byText.find(([shape]) => shape.test(message));
  if (known) return known[1];
  if (tlsCode.test(code)) return ['refused', `its certificate is not accepted (${code}); mend it, or sslmode and sslrootcert`];
  return ['failed', message];
}

/**
 * What a driver threw, as something that can be shown. `shown` is the address without its secrets. The driver's own error does not go along: it
 * may name the user, which may be a misplaced password, or the values of a row.
 */
export function explain(error: unknown, shown: string): Error {
  if (error instanceof DatabaseError || error instanceof TypeError) return error;
  const raw = error as { readonly code?: unknown; readonly message?: unknown };
  const [trouble, told] = explained(raw);
  return new DatabaseError(trouble, `${shown}: ${told}${typeof raw.code === 'string' ? ` (${raw.code})` : ''}`);
}
