import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { aptInstall, mayInstall } from '../../../../test/support/apt.js';
import { freePort } from '../../../../test/support/redis.js';
import { ask, later, temporary } from './service.js';

const isThere = (): boolean => spawnSync('promtool', ['--version']).status === 0;

/** Why there is no Prometheus here; undefined if there is. Installs it where that is possible. */
export function missingPrometheus(): string | undefined {
  if (isThere()) return undefined;
  if (mayInstall()) {
    try {
      aptInstall('prometheus', { lockSeconds: 60, timeout: 300_000 });
    } catch {
      // Without a network there is none: the test says so.
    }
  }
  return isThere() ? undefined : 'promtool is not on PATH and cannot be installed from here (Debian: apt-get install prometheus)';
}

/** What promtool says, and whether it is content. */
export function promtool(...args: readonly string[]): { readonly ok: boolean; readonly text: string } {
  const { status, stdout, stderr } = spawnSync('promtool', [...args], { encoding: 'utf8' });
  return { ok: status === 0, text: stdout + stderr };
}

/** Runs a Prometheus that scrapes these servers every second and evaluates these rules, until the test ends. */
export async function startPrometheus(servers: readonly string[], ruleFiles: readonly string[]) {
  const folder = temporary();
  const port = await freePort();
  mkdirSync(join(folder, 'data'));
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ruleFiles,
    scrape_configs: [{ job_name: 'headgate', static_configs: [{ targets: servers.map((url) => new URL(url).host) }] }],
  };
  const file = join(folder, 'prometheus.yaml');
  writeFileSync(file, JSON.stringify(config));
  const args = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'data')}`, `--web.listen-address=127.0.0.1:${port}`];
  const child = spawn('prometheus', args, { stdio: 'ignore' });
  later(() => child.kill('SIGKILL'));
  const url = `http://127.0.0.1:${port}`;
  await expect
    .poll(
      () =>
        ask(`${url}/-/ready`).then(
          ({ status }) => status,
          () => 0,
        ),
      { timeout: 30_000 },
    )
    .toBe(200);
  return {
    /** What an expression says now: a value for each series. */
    async query(expression: string): Promise<{ metric: Record<string, string>; value: [number, string] }[]> {
      const { json } = await ask(`${url}/api/v1/query?query=${encodeURIComponent(expression)}`);
      if (json.status !== 'success') throw new Error(`${expression}: ${json.error as string}`);
      return json.data.result;
    },
    /** Names of the alerts that it has read. */
    async alerts(): Promise<string[]> {
      const { json } = await ask(`${url}/api/v1/rules?type=alert`);
      return json.data.groups.flatMap(({ rules }: { rules: { name: string }[] }) => rules.map(({ name }) => name));
    },
  };
}
