import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { freePort } from '../support/redis.js';

export const root = join(import.meta.dirname, '../..');
export const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** A folder for one test file, gone after it. */
export const folder = mkdtempSync(join(tmpdir(), 'headgate-deploy-'));
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** A folder in it with these files. */
export function holding(name: string, files: Record<string, string>): string {
  const place = join(folder, name);
  mkdirSync(place, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(place, file), text);
  return place;
}

/** Settings that deploy files keep in files of their own. */
export const secretFiles = (redisUrl: string): Record<string, string> => ({
  secret: 's'.repeat(32),
  redis: redisUrl,
  database: 'sqlite:rules.db',
  'webhook-secret': 'w'.repeat(32),
});

export interface Started {
  readonly url: string;
  /** Where probes are asked, if it has a port for them. */
  readonly opsUrl: string;
  readonly child: ChildProcess;
}

/** Starts the service from `bin`, as a deploy file says, on a free port; done once it answers. */
export async function started(bin: string, args: readonly string[], env: Record<string, string>): Promise<Started> {
  const [port, opsPort] = [await freePort(), await freePort()];
  const hasOps = 'HEADGATE_OPS_PORT' in env;
  const child = spawn(process.execPath, [bin, ...args], {
    env: {
      PATH: process.env['PATH'] ?? '',
      ...env,
      HEADGATE_HTTP_PORT: String(port),
      ...(hasOps && { HEADGATE_OPS_PORT: String(opsPort) }),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  children.push(child);
  let said = '';
  child.stderr.on('data', (chunk) => (said += String(chunk)));
  const url = `http://127.0.0.1:${port}`;
  const state = (): Promise<string> =>
    fetch(`${url}/healthz`).then(
      ({ status }) => String(status),
      () => `no answer: ${said}`,
    );
  await expect.poll(state, { timeout: 30_000 }).toBe('200');
  return { url, opsUrl: `http://127.0.0.1:${hasOps ? opsPort : port}`, child };
}

/** What it ended with, once asked to. */
export async function ended({ child }: Started): Promise<unknown> {
  const code = once(child, 'close').then(([exitCode]) => exitCode as unknown);
  child.kill('SIGTERM');
  return code;
}
