import { describe, expect, it } from 'vitest';
import { readConfig, readRedisUrl, SettingError } from '../src/config.js';
import { settingFaults } from './support/setting-faults.js';

const fault = (args: string[], env: Record<string, string> = {}): string => settingFaults(args, env).join('\n');

describe('settings', () => {
  it('have defaults, come from the environment, and before it from flags', () => {
    expect(readConfig([], {})).toEqual({
      rules: undefined,
      drainMs: 0,
      stopWithinMs: 10_000,
      workers: 1,
      redis: [],
      host: '127.0.0.1',
      httpPort: 8080,
      secret: undefined,
      logLevel: 'info',
      deadlineMs: undefined,
      fleetSize: undefined,
      notes: undefined,
    });
    const env = {
      HEADGATE_RULES: 'a.yaml',
      HEADGATE_HTTP_PORT: '9000',
      HEADGATE_HOST: '::',
      HEADGATE_REDIS: 'redis://h',
      HEADGATE_SECRET: 'x'.repeat(16),
    };
    expect(readConfig([], env)).toMatchObject({
      rules: 'a.yaml',
      httpPort: 9000,
      host: '::',
      redis: [{ name: undefined, address: { kind: 'single' }, weight: 1 }],
      secret: 'x'.repeat(16),
    });
    expect(readConfig(['--http-port', '1', '--rules=b.yaml'], env)).toMatchObject({ rules: 'b.yaml', httpPort: 1 });
    expect(readConfig(['--rules', 'a', '--rules', 'b', '--redis='], env)).toMatchObject({ rules: 'b', redis: [] });
    expect(readConfig(['--fleet-size', '8'], { HEADGATE_FLEET_SIZE: '4', HEADGATE_NOTES: '0' })).toMatchObject({ fleetSize: 8, notes: 0 });
    expect(readConfig([], { HEADGATE_FLEET_SIZE: '4' }).fleetSize).toBe(4);
  });

  it('of a webhook want an address without a password, which no request could carry, and never show it', () => {
    const env = { HEADGATE_WEBHOOK_SECRET: 'sixteen letters !' };
    const told = fault(['--webhook', 'https://user:pa55@billing.example.com/hook'], env);
    expect(told).toContain('no user and password');
    expect(told).not.toContain('pa55');
    expect(fault(['--webhook', 'https://billing.example.com/hook'], env)).toBe('');
  });

  it('that cannot be used are one clear error', () => {
    expect(fault(['--port', '1'])).toMatch(/'--port'.*headgate help serve/);
    expect(fault(['redis://u:hunter2@h'])).toBe('an argument without a flag; see headgate help serve');
    expect(fault(['--rules'])).toMatch(/^--rules needs a value; see headgate help serve$/);
    expect(fault(['--rules', '--host', 'h'])).toMatch(/^--rules needs a value; see headgate help serve$/);
    for (const size of ['0', '-1', '1.5', 'x', '100001'])
      expect(fault([`--fleet-size=${size}`])).toMatch(/^--fleet-size: expected a whole/);
    for (const notes of ['-1', 'x', '10000001']) expect(fault([], { HEADGATE_NOTES: notes })).toMatch(/^HEADGATE_NOTES: expected a whole/);
    for (const port of ['x', '-1', '65536', '80.5']) expect(fault([`--http-port=${port}`])).toMatch(/--http-port: expected a port/);
    expect(fault([], { HEADGATE_LOG_LEVEL: 'loud' })).toMatch(/HEADGATE_LOG_LEVEL: expected one of/);
    expect(readConfig([], { HEADGATE_DEADLINE: '2s' }).deadlineMs).toBe(2000);
    for (const deadline of ['0ms', '10', '61s', '2m'])
      expect(fault([], { HEADGATE_DEADLINE: deadline })).toMatch(/HEADGATE_DEADLINE: expected/);
    expect(readConfig([], { HEADGATE_NOTES: '', HEADGATE_REDIS: '' })).toMatchObject({ notes: undefined, redis: [] });
    for (const secret of ['short', '']) expect(fault([], { HEADGATE_SECRET: secret })).toMatch(/HEADGATE_SECRET: expected at least 16/);
  });
});

describe('a Redis address', () => {
  it('is single, Cluster or Sentinel, with or without TLS and login', () => {
    expect(readRedisUrl('redis://127.0.0.1')).toMatchObject({
      kind: 'single',
      tls: false,
      nodes: [{ host: '127.0.0.1', port: 6379 }],
      database: 0,
    });
    expect(readRedisUrl('rediss://ada:p%40ss:w@h:1/2')).toMatchObject({
      kind: 'single',
      tls: true,
      username: 'ada',
      password: 'p@ss:w',
      database: 2,
    });
    expect(readRedisUrl('redis://:pw@[::1]:7000/')).toMatchObject({
      nodes: [{ host: '::1', port: 7000 }],
      username: undefined,
      password: 'pw',
    });
    expect(readRedisUrl('redis+cluster://u:p@h1:1,h2:2,h3')).toMatchObject({
      kind: 'cluster',
      username: 'u',
      password: 'p',
      nodes: [
        { host: 'h1', port: 1 },
        { host: 'h2', port: 2 },
        { host: 'h3', port: 6379 },
      ],
    });
    expect(readRedisUrl('rediss+cluster://h1')).toMatchObject({ kind: 'cluster', tls: true });
    expect(readRedisUrl('redis+sentinel://h1,h2:5/main')).toMatchObject({
      kind: 'sentinel',
      name: 'main',
      nodes: [
        { host: 'h1', port: 26_379 },
        { host: 'h2', port: 5 },
      ],
    });
  });

  it('that cannot be used is one clear error, which never shows the password', () => {
    const bad = [
      '',
      'h:6379',
      'http://h',
      'redis://',
      'redis://h1,h2',
      'redis://h:x',
      'redis://h:0',
      'redis://h:70000',
      'redis://h/x',
      'redis+sentinel://h',
      'redis+cluster://h/1',
      'redis://u:hunter2@',
      'redis://u:hunter2@h:x',
      'redis://u:hunter2%zz@h',
      'redis://u:hunter2/x@h',
      'redis://u:hunter2@x@h:1:2',
    ];
    for (const url of bad) {
      expect(() => readRedisUrl(url), url).toThrow(SettingError);
      expect(() => readRedisUrl(url), url).not.toThrow(/hunter2/);
    }
  });
});
