import { accessSync, closeSync, constants, openSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { aptInstall, mayInstall } from './apt.js';

function find(program: string): string | undefined {
  for (const folder of [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin', '/usr/local/bin']) {
    const file = join(folder, program);
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

/**
 * The path of a program of the Debian package of the same name; installs it where that is possible, once for all processes.
 *
 * @throws an error that tells how to install it
 */
export function ensureProgram(program: string, howTo: string): string {
  const missing = `${program} is not on PATH and cannot be installed from here: ${howTo}, then run the tests again`;
  let file = find(program);
  if (file === undefined) {
    locked(() => {
      if (find(program) !== undefined || !mayInstall()) return;
      try {
        aptInstall(program, { lockSeconds: 120, timeout: 300_000 });
      } catch (error) {
        throw new Error(missing, { cause: error });
      }
    });
    file = find(program);
  }
  if (file === undefined) throw new Error(missing);
  return file;
}

/** The path of `redis-server`. */
export const ensureRedisServer = (): string =>
  ensureProgram('redis-server', 'install Redis 6.2 or newer (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis)');
