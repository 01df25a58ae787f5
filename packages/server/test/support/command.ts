import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { later } from './service.js';

const bin = fileURLToPath(new URL('../../bin/headgate.js', import.meta.url));

export interface Run {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  /** What it logged, line by line. Each line is JSON: anything else on standard error is thrown. */
  readonly log: () => Record<string, unknown>[];
  readonly code: Promise<number | null>;
}

/** The built command, killed after the test. */
export function headgate(args: readonly string[], env: Record<string, string> = {}): Run {
  const child = spawn(process.execPath, [bin, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  later(() => child.kill('SIGKILL'));
  const text = { out: '', err: '' };
  child.stdout?.on('data', (chunk) => (text.out += String(chunk)));
  child.stderr?.on('data', (chunk) => (text.err += String(chunk)));
  const code = once(child, 'close').then(([exitCode]) => exitCode as number | null);
  const lines = (): string[] => text.err.split('\n').slice(0, -1);
  return { child, out: () => text.out, err: () => text.err, log: () => lines().map((line) => JSON.parse(line)), code };
}

/** The address that `headgate serve` listens on, once it has told. */
export async function urlOf({ out }: Run): Promise<string> {
  await expect.poll(out, { timeout: 40_000 }).toMatch(/Counters are/);
  return /http:\/\/\S+?:\d+/.exec(out())?.[0] ?? '';
}
