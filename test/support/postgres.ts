import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { accessSync, chownSync, constants, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import pg from 'pg';
import { aptInstall, mayInstall } from './apt.js';
import { end, freePort, host } from './redis.js';

export interface PostgresServer {
  readonly port: number;
  readonly user: string;
  readonly password: string;
  /** Of a database that is there from the start; each test makes one of its own. */
  url(database?: string): string;
  createDatabase(): Promise<string>;
  /** One statement over a connection of its own. */
  query(text: string, database?: string): Promise<Record<string, unknown>[]>;
  /** Connections of Headgate to a database. */
  connections(database: string): Promise<number>;
  /** Ends all connections; new ones are taken. */
  cut(database: string): Promise<void>;
  /** SIGINT: ends transactions and connections, and waits for the end. */
  stop(): Promise<void>;
  /** Again, on the same port, with what it held; nothing if it runs. */
  start(): Promise<void>;
  /** Ends it and removes what it held. */
  remove(): Promise<void>;
}

const children = new Set<ChildProcess>();
const folders = new Set<string>();
process.once('exit', () => {
  // SIGQUIT: the server's own children end with it, as they do when it is killed, only sooner.
  for (const child of children) child.kill('SIGQUIT');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** The folder with `initdb` and `postgres`: Debian keeps it off PATH. */
function find(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => join(debian, version, 'bin')), ...(process.env['PATH'] ?? '').split(delimiter)];
  return folders.find((folder) => {
    try {
      for (const file of ['initdb', 'postgres']) accessSync(join(folder, file), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function install(): void {
  if (!mayInstall()) return;
  try {
    aptInstall('postgresql', { lockSeconds: 120, timeout: 300_000 });
  } catch {
    // Without a network there is none: the tests say so.
  }
}

/** Where PostgreSQL's programs are, or why there are none. */
export function postgres(): { readonly folder: string } | { readonly reason: string } {
  if (find() === undefined) install();
  const folder = find();
  if (folder !== undefined) return { folder };
  return {
    reason:
      'PostgreSQL (initdb, postgres) is not on PATH nor in /usr/lib/postgresql, and cannot be installed from here (Debian: apt-get install postgresql)',
  };
}

/** PostgreSQL refuses root: a user that has nothing to do with us. Undefined: we are not root. */
function someone(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string, name: string) => Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }).toString());
  for (const name of ['postgres', 'nobody']) {
    try {
      return { uid: id('-u', name), gid: id('-g', name) };
    } catch {
      // not here
    }
  }
  return { uid: 65_534, gid: 65_534 };
}

const settings = [
  ...['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'shared_buffers=32MB', 'max_connections=100'],
  ...['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'logging_collector=off', 'log_min_messages=fatal'],
];

/** A PostgreSQL of its own for one test file, in a temporary folder: nothing is shared, and nothing survives a power cut. */
export async function startPostgres(programs: string): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-postgres-'));
  folders.add(folder);
  const as = someone();
  const [user, password, port] = ['tester', 'not/a:simple@one', await freePort()];
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password, { mode: 0o644 });
  if (as) chownSync(folder, as.uid, as.gid);
  const data = join(folder, 'data');
  const init = ['-D', data, '-U', user, '-A', 'scram-sha-256', '--pwfile', passwordFile, '-E', 'UTF8', '--no-locale', '--no-sync'];
  execFileSync(join(programs, 'initdb'), init, { stdio: 'pipe', cwd: '/', ...as });
  const args = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];

  const url = (database = 'postgres'): string => `postgres://${user}:${encodeURIComponent(password)}@${host}:${port}/${database}`;
  async function query(text: string, database = 'postgres'): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ host, port, user, password, database });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query(text)).rows as Record<string, unknown>[];
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  let child: ChildProcess | undefined;
  async function start(): Promise<void> {
    if (child && children.has(child)) return;
    const started = spawn(join(programs, 'postgres'), args, { stdio: ['ignore', 'ignore', 'pipe'], cwd: '/', ...as });
    child = started;
    children.add(started);
    started.once('exit', () => children.delete(started));
    let log = '';
    started.stderr.on('data', (chunk: Buffer) => (log = (log + chunk.toString()).slice(-2000)));
    const deadline = Date.now() + 30_000;
    for (;;) {
      try {
        await query('select 1');
        return;
      } catch {
        if (started.exitCode !== null || Date.now() > deadline) throw new Error(`PostgreSQL on port ${port} did not start:\n${log}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }
  async function stop(): Promise<void> {
    if (child) await end(child, 'SIGINT');
  }
  await start();

  const of = (database: string): string => `datname = '${database}' and application_name = 'headgate'`;
  let made = 0;
  return {
    port,
    user,
    password,
    url,
    query,
    async createDatabase() {
      const name = `test${(made += 1)}`;
      await query(`create database ${name}`);
      return name;
    },
    connections: async (database) => (await query(`select 1 from pg_stat_activity where ${of(database)}`)).length,
    cut: async (database) => void (await query(`select pg_terminate_backend(pid) from pg_stat_activity where ${of(database)}`)),
    stop,
    start,
    async remove() {
      await stop();
      folders.delete(folder);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
