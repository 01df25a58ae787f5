import { accessSync, closeSync, constants, openSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { aptInstall, mayInstall } from './apt.js';

const howTo =
  'redis-server is not on PATH and cannot be installed from here: ' +
  'install Redis 6.2 or newer (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis), then run the tests again';

function find(): string | undefined {
  for (const folder of [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin', '/usr/local/bin']) {
    const file = join(folder, 'redis-server');
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // not here
    }
  }
  return undefined;
}

const sleep = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Runs `work` in one process at a time; a lock that is older than five minutes was left by a process that died. */
function locked(work: () => void): void {
  const lock = join(tmpdir(), 'headgate-install.lock');
  for (;;) {
    try {
      closeSync(openSync(lock, 'wx'));
      break;
    } catch {
      const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
      if (Date.now() - since > 300_000) rmSync(lock, { force: true });
      sleep(200);
    }
  }
  try {
    work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function install(): void {
  if (find() !== undefined || !mayInstall()) return;
  try {
    aptInstall('redis-server');
  } catch (error) {
    throw new Error(howTo, { cause: error });
  }
}

/** The path of `redis-server`; installs it where that is possible, once for all processes. */
export function ensureRedisServer(): string {
  let file = find();
  if (file === undefined) {
    locked(install);
    file = find();
  }
  if (file === undefined) throw new Error(howTo);
  return file;
}
