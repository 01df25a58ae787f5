import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { commandsOf } from '../src/cli/command.js';
import { tree } from '../src/cli/tree/index.js';
import { readDatabaseUrl } from '../src/database/address.js';
import { openDatabase } from '../src/database/open.js';
import { bin } from './support/command.js';
import { start, temporary } from './support/service.js';

const rule = (limit: number): Record<string, unknown> => ({
  name: 'search',
  key: ['apiKey'],
  limit: { fixedWindow: { limit, window: '1h' } },
});
const quota = { name: 'monthly', key: ['account'], limit: { quota: { limit: 10_000, period: 'month' } } };
const backups = { name: 'backups', key: ['*'], limit: { fixedWindow: { limit: 1, window: '1d' } } };
const file = (limit: number): object => ({ version: 1, rules: [rule(limit), quota, backups] });

/** They run until they are told to end, need a Redis, or another shell or program than is here: tested elsewhere. */
const elsewhere = /^headgate (serve|doctor)|completion (zsh|fish)|^jq/;

const inBash = (command: string, options: { cwd: string; env: Record<string, string> }): Promise<{ status: unknown; stderr: string }> =>
  new Promise((resolve) => {
    execFile('bash', ['--norc', '-c', command], options, (error, _, stderr) =>
      resolve({ status: error === null ? 0 : error.code, stderr }),
    );
  });

describe('the examples of every command', () => {
  it('work as they stand, one after the other, in a folder with a rules file, a database and a log', async () => {
    const folder = temporary();
    const database = openDatabase(readDatabaseUrl(`sqlite:${join(folder, 'headgate.db')}`));
    for (let version = 0; version < 12; version += 1)
      await database.rules.importAll({ base: version, author: 'ann', reason: '', file: file(100 + version) });
    await database.close();
    const { url } = await start({ flags: ['--database', `sqlite:${join(folder, 'headgate.db')}`] });
    writeFileSync(join(folder, 'rules.yaml'), JSON.stringify(file(50)));
    writeFileSync(join(folder, 'headgate.yaml'), 'http-port: 8080\n');
    const line = JSON.stringify({ time: new Date().toISOString(), rule: 'monthly', key: 'key42' });
    writeFileSync(join(folder, 'access.ndjson'), `${line}\n`);
    writeFileSync(join(folder, 'access.ndjson.gz'), gzipSync(`${line}\n`));
    mkdirSync(join(folder, 'bin'));
    for (const [name, script] of [
      ['bin/headgate', `#!/bin/sh\nexec '${process.execPath}' '${bin}' "$@"\n`],
      ['backup.sh', '#!/bin/sh\nexit 0\n'],
    ] as const) {
      writeFileSync(join(folder, name), script);
      chmodSync(join(folder, name), 0o755);
    }
    const env = { PATH: join(folder, 'bin') + delimiter + (process.env['PATH'] ?? ''), HEADGATE_URL: url };
    const examples = commandsOf(tree).flatMap(({ examples: all = [] }) => all.map(([command]) => command));
    const run = examples.filter((command) => !elsewhere.test(command));
    expect(run.length).toBeGreaterThan(25);
    for (const command of run) {
      const here = command.replaceAll('/etc/', `${folder}/`);
      const { status, stderr } = await inBash(here, { cwd: folder, env });
      expect({ command, status, stderr }).toEqual({ command, status: 0, stderr: '' });
    }
  });
});
