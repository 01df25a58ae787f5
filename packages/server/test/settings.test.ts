import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../src/config.js';
import { headgate } from './support/command.js';
import { temporary } from './support/service.js';
import { settingFaults } from './support/setting-faults.js';

function file(text: string, name = 'headgate.yaml'): string {
  const path = join(temporary(), name);
  writeFileSync(path, text);
  return path;
}

describe('a settings file', () => {
  it('comes after flags, variables and files of their own, and before defaults', () => {
    const config = file('http-port: 1\nhost: h1\nfleet-size: 1\nnotes: 1\n');
    const own = file('3\n', 'fleet-size');
    const env = { HEADGATE_CONFIG: config, HEADGATE_HOST: 'h2', HEADGATE_FLEET_SIZE_FILE: own };
    expect(readConfig(['--http-port', '4'], env)).toMatchObject({ httpPort: 4, host: 'h2', fleetSize: 3, notes: 1, logLevel: 'info' });
    expect(readConfig(['--config', file('host: h3')], { HEADGATE_CONFIG: config })).toMatchObject({ host: 'h3', httpPort: 8080 });
  });

  it('has lists and maps where a flag may be given several times, and may be JSON', () => {
    const redis = { a: 'redis://h1', b: 'redis://h2' };
    const expected = {
      redis: [
        { name: 'a', weight: 1 },
        { name: 'b', weight: 2 },
      ],
    };
    expect(readConfig(['--config', file(JSON.stringify({ redis, weight: { b: 2 } }), 'headgate.json')], {})).toMatchObject(expected);
    expect(readConfig(['--config', file('redis: [a=redis://h1, b=redis://h2]\nweight: [b=2]')], {})).toMatchObject(expected);
    expect(readConfig(['--config', file('# nothing yet\n')], {})).toMatchObject({ httpPort: 8080 });
  });

  it('tells all its faults, with its line, and shows no value', () => {
    const path = file('http-prot: 1\nhttp-port: x\nhost: [a, b]\nnotes: { a: { b: hunter2 } }\nsecret: short\nconfig: other.yaml\n');
    expect(settingFaults(['--config', path])).toEqual([
      `${path}:1: no setting is called "http-prot"; see headgate help serve`,
      `${path}:3: host: expected one value`,
      `${path}:4: notes: expected one value`,
      `${path}:6: no setting is called "config"; see headgate help serve`,
      `${path}: http-port: expected a port from 0 to 65535; got "x"`,
      `${path}: secret: expected at least 16 characters (the value is not shown)`,
    ]);
    const broken = file('a: "x\nb: [');
    expect(settingFaults(['--config', broken])[0]).toMatch(/:\d+: no valid YAML/);
    expect(settingFaults(['--config', file('- a')])).toEqual([expect.stringMatching(/:1: expected names of settings/)]);
    expect(settingFaults(['--config', '/nowhere.yaml'])).toEqual(['/nowhere.yaml: cannot be read (ENOENT)']);
  });
});

describe('a file of its own for one setting', () => {
  it('is named by the variable with _FILE, and its last line end does not count', () => {
    const secret = file('sixteen letters !\r\n', 'secret');
    expect(readConfig([], { HEADGATE_SECRET_FILE: secret }).secret).toBe('sixteen letters !');
    expect(readConfig([], { HEADGATE_REDIS_FILE: file('a=redis://h1 b=redis://h2\n', 'redis') }).redis).toHaveLength(2);
  });

  it('that cannot be read is a fault', () => {
    expect(settingFaults([], { HEADGATE_SECRET_FILE: '/nowhere' })).toEqual([
      'HEADGATE_SECRET_FILE: the file it names cannot be read (ENOENT)',
    ]);
  });
});

describe('headgate config print', () => {
  it('shows every setting with where it came from, and neither secrets nor passwords', async () => {
    const config = file('redis: redis://ada:hunter2@h\nwebhook: https://h/hook?token=hunter2\n');
    const args = ['config', 'print', '--config', config, '--http-port', '9', '--database', 'postgres://ada:hunter2@h/x', '--json'];
    const run = headgate(args, { HEADGATE_SECRET: 'hunter2-hunter2-hunter2', HEADGATE_WEBHOOK_SECRET: 'hunter2-hunter2-hunter2' });
    expect(await run.code, run.err()).toBe(0);
    expect(run.out()).not.toContain('hunter2');
    expect(JSON.parse(run.out())).toMatchObject({
      'http-port': { value: '9', from: '--http-port' },
      redis: { value: 'redis://***@h:6379', from: `${config}: redis` },
      database: { value: 'postgres://***@h:5432/x', from: '--database' },
      webhook: { value: 'https://h', from: `${config}: webhook` },
      secret: { value: '(not shown)', from: 'HEADGATE_SECRET' },
      host: { value: '127.0.0.1', from: 'default' },
    });
    const table = headgate(['config', 'print']);
    expect(await table.code).toBe(0);
    expect(table.out()).toMatch(/^http-port +8080 +default$/m);
  });

  it('ends with 78 and all faults for settings that the service would not start with', async () => {
    const run = headgate(['config', 'print', '--http-port', 'x', '--rules', 'a', '--database', 'sqlite:b']);
    expect(await run.code).toBe(78);
    expect(run.err()).toMatch(/--http-port[^]*--rules and --database/);
  });
});
