import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { ensureRedisServer } from './install.js';

export interface RedisServer {
  readonly host: string;
  readonly port: number;
  readonly url: string;
  /** Sends one raw command over a connection of its own. */
  command(...args: (string | number)[]): Promise<unknown>;
  /** SIGTERM, and waits for the end. */
  stop(): Promise<void>;
  /** SIGKILL, and waits for the end. */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open, nothing is answered. */
  pause(): void;
  resume(): void;
  /** Starts it again on the same port, empty; kills it first if it runs. */
  restart(): Promise<void>;
}

export const host = '127.0.0.1';
const children = new Set<ChildProcess>();
const folders = new Set<string>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A port that nothing listens on; with `spare`, port + spare is free as well (a cluster's bus). */
export async function freePort(spare = 0): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const port = await listenOnce(spare === 0 ? 0 : 20_000 + Math.floor(Math.random() * 20_000));
    if (port !== undefined && (spare === 0 || (await listenOnce(port + spare)) !== undefined)) return port;
  }
  throw new Error('found no free port');
}

function listenOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, host, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : undefined));
    });
  });
}

/** A temporary folder that goes away with the process. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-redis-'));
  folders.add(folder);
  return folder;
}

/** Removes a temporary folder at once: a process that is killed runs no exit handler. */
export function discard(folder: string): void {
  folders.delete(folder);
  rmSync(folder, { recursive: true, force: true });
}

/** Runs `redis-server` with these arguments until its port answers PING. */
export async function launch(port: number, args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(ensureRedisServer(), [...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  let log = '';
  child.stdout.on('data', (chunk: Buffer) => (log = (log + chunk.toString()).slice(-2000)));
  child.stderr.on('data', (chunk: Buffer) => (log = (log + chunk.toString()).slice(-2000)));
  child.once('exit', () => children.delete(child));
  const deadline = Date.now() + 10_000;
  while (!(await answers(port))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await end(child, 'SIGKILL');
      throw new Error(`redis-server on port ${port} did not start:\n${log}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return child;
}

async function answers(port: number): Promise<boolean> {
  try {
    return (await rawCommand(port, ['PING'])) === 'PONG';
  } catch {
    return false;
  }
}

/** One command over a fresh connection, which is closed afterwards. */
export async function rawCommand(port: number, args: readonly (string | number)[]): Promise<unknown> {
  const [name = 'PING', ...rest] = args;
  const client = new Redis({ host, port, lazyConnect: true, retryStrategy: () => null, enableReadyCheck: false, protocol: 2 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await client.call(String(name), ...rest);
  } finally {
    client.disconnect();
  }
}

export function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill(signal);
    if (signal !== 'SIGKILL') child.kill('SIGCONT'); // a paused process takes no SIGTERM
  });
}

/** A Redis of its own for one test file: nothing is kept on disk, nothing is shared. */
export async function startRedis(options: { args?: readonly string[]; port?: number } = {}): Promise<RedisServer> {
  const port = options.port ?? (await freePort());
  const folder = temporaryFolder();
  const args = ['--bind', host, '--port', `${port}`, '--save', '', '--appendonly', 'no', '--dir', folder, ...(options.args ?? [])];
  let child = await launch(port, args);
  return {
    host,
    port,
    url: `redis://${host}:${port}`,
    command: (...command) => rawCommand(port, command),
    stop: async () => {
      await end(child, 'SIGTERM');
      discard(folder);
    },
    kill: async () => {
      await end(child, 'SIGKILL');
      discard(folder);
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    restart: async () => {
      await end(child, 'SIGKILL');
      // A stop or kill before has removed it.
      mkdirSync(folder, { recursive: true });
      folders.add(folder);
      child = await launch(port, args);
    },
  };
}
