import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { later } from './service.js';

export const bin = fileURLToPath(new URL('../../bin/headgate.js', import.meta.url));

export interface Run {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  /** What it logged, line by line. Each line is JSON: anything else on standard error is thrown. */
  readonly log: () => Record<string, unknown>[];
  readonly code: Promise<number | null>;
}

/** The built command, killed after the test; `input` is its standard input. */
export function headgate(args: readonly string[], env: Record<string, string> = {}, input?: string): Run {
  const child = spawn(process.execPath, [bin, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  child.stdin?.on('error', () => undefined).end(input);
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

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  /** What it printed, if that is JSON. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly json: any;
}

/** Runs the command to its end. */
export async function ran(args: readonly string[], env?: Record<string, string>, input?: string): Promise<Ran> {
  const run = headgate(args, env, input);
  const code = await run.code;
  const text = run.out();
  return { code, out: text, err: run.err(), json: text.startsWith('{') ? JSON.parse(text) : undefined };
}
