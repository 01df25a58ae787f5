import { spawn } from 'node:child_process';
import { accessSync, constants, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { aptInstall, mayInstall } from '../../../../test/support/apt.js';
import { freePort } from '../../../../test/support/redis.js';
import { ask, later, temporary } from './service.js';

function find(): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return folders
    .map((folder) => join(folder, 'nginx'))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

function install(): void {
  if (!mayInstall()) return;
  try {
    aptInstall('nginx', { lockSeconds: 60, timeout: 100_000 });
  } catch {
    // Without a network there is none: the test says so.
  }
}

/** The path of an nginx that knows `auth_request`, or why there is none. */
export function nginx(): { readonly file: string } | { readonly reason: string } {
  if (find() === undefined) install();
  const file = find();
  if (file === undefined) return { reason: 'nginx is not on PATH and cannot be installed from here (Debian: apt-get install nginx)' };
  return { file };
}

/** Runs nginx with these directives of `http` until the test ends; `listen` is filled in for `PORT`. */
export async function startNginx(file: string, directives: string): Promise<string> {
  const [folder, port] = [temporary(), await freePort()];
  mkdirSync(join(folder, 'tmp'));
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path tmp/${name};`).join(' ');
  const text = `daemon off; master_process off; pid nginx.pid; error_log stderr warn; worker_processes 1;
events { worker_connections 256; }
http { access_log off; ${temp}
${directives.replaceAll('PORT', String(port))}
}`;
  const path = join(folder, 'nginx.conf');
  writeFileSync(path, text);
  const child = spawn(file, ['-p', folder, '-c', path], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.on('data', (chunk) => (log += String(chunk)));
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  later(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + 10_000;
  while (
    !(await ask(`${url}/`).then(
      () => true,
      () => false,
    ))
  ) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`nginx did not start:\n${log}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return url;
}
