import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startRedis, type RedisServer } from '../../../../test/support/redis.js';
import type { Finding } from '../../src/usecases/doctor/finding.js';
import { later } from './service.js';

const bin = fileURLToPath(new URL('../../bin/headgate.js', import.meta.url));

export interface Visit {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** The built command. The deadline is generous by default: tests run beside each other, on two cores. */
export async function doctor(args: readonly string[], env: Record<string, string> = {}): Promise<Visit> {
  const child = spawn(process.execPath, [bin, 'doctor', ...args], {
    env: { PATH: process.env['PATH'] ?? '', HEADGATE_DEADLINE: '2s', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  later(() => child.kill('SIGKILL'));
  const text = { out: '', err: '' };
  child.stdout.on('data', (chunk) => (text.out += String(chunk)));
  child.stderr.on('data', (chunk) => (text.err += String(chunk)));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...text };
}

export interface Report {
  readonly code: number | null;
  readonly version: string;
  readonly target: string;
  readonly reached: boolean;
  readonly worst: string;
  readonly findings: readonly Finding[];
  /** The findings of this id. */
  all(id: string): readonly Finding[];
  /** The worst finding of this id. */
  one(id: string): Finding | undefined;
}

/** What the doctor says of a URL, as programs read it. */
export async function examined(url: string, env: Record<string, string> = {}): Promise<Report> {
  const { code, out, err } = await doctor(['--redis', url, '--json'], env);
  if (!out.startsWith('{')) throw new Error(`no report (exit code ${code}): ${out}${err}`);
  const report = JSON.parse(out) as Omit<Report, 'code' | 'all' | 'one'>;
  const all = (id: string): Finding[] => report.findings.filter((finding) => finding.id === id);
  return { code, ...report, all, one: (id) => all(id)[0] };
}

/** The arguments of a server with which nothing is wrong. */
export const sound = ['--maxmemory', '200mb', '--maxmemory-policy', 'noeviction', '--appendonly', 'yes'];

export async function redis(...args: string[]): Promise<RedisServer> {
  const server = await startRedis({ args });
  later(server.kill);
  return server;
}
