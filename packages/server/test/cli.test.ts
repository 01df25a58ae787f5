import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { headgate, ran, urlOf } from './support/command.js';
import { ask, rulesFile } from './support/service.js';

const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

describe('headgate serve', () => {
  it('prints its address, one curl that works, and what to add for Redis', async () => {
    const run = headgate(['serve', '--http-port', '0']);
    const url = await urlOf(run);
    expect(run.out()).toContain('--redis redis://127.0.0.1:6379');
    const curl = /curl -s (\S+) -H '([^:]+): ([^']+)' -d '([^']+)'/.exec(run.out());
    expect(curl?.[1]).toBe(`${url}/v1/check`);
    const { status, json } = await ask(curl?.[1] ?? '', {
      method: 'POST',
      headers: { [curl?.[2] ?? '']: curl?.[3] ?? '' },
      body: curl?.[4] ?? '',
    });
    expect([status, json.allowed]).toEqual([200, true]);
    for (const line of run.err().trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ name: 'headgate' });
    run.child.kill('SIGTERM');
    expect(await run.code).toBe(0);
  });

  it('ends with 0 on SIGTERM and SIGINT, also with an idle connection open', async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const run = headgate(['serve', '--http-port', '0']);
      const { port } = new URL(await urlOf(run));
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
      await once(socket, 'data');
      const since = performance.now();
      run.child.kill(signal);
      expect(await run.code).toBe(0);
      expect(performance.now() - since).toBeLessThan(3000);
    }
  });

  it('ends with 78 and every fault if the rules are faulty, empty or missing', async () => {
    const everything = headgate(['serve', '--http-port', '0', '--rules', fixture('busted_everything.yaml')]);
    expect(await everything.code).toBe(78);
    expect(everything.err().trim().split('\n')).toHaveLength(18);
    expect(everything.err()).toMatch(/busted_everything\.yaml:9: rule "rate": /);
    for (const file of [fixture('busted_empty.yaml'), '/nowhere/rules.yaml', '/']) {
      const run = headgate(['serve', '--http-port', '0', '--rules', file]);
      expect(await run.code, file).toBe(78);
      expect(run.err(), file).toMatch(/:1: .*not "no limits"/);
    }
  });

  it('ends with 78 and one line if a setting is faulty, and never shows a secret', async () => {
    for (const args of [['--bogus'], ['--http-port', 'x'], ['--redis', 'redis://u:hunter2@h:x'], ['redis://u:hunter2@h']]) {
      const run = headgate(['serve', ...args]);
      expect(await run.code).toBe(78);
      expect(run.err().trim().split('\n')).toHaveLength(1);
      expect(run.err()).not.toContain('hunter2');
    }
  });

  it('tells all faults of its settings at once, a line each, whether of flags or of the environment', async () => {
    const args = ['--bogus', '--http-port', 'x', '--redis', 'a=redis://u:hunter2@h:x', '--redis', 'redis://h', '--weight', 'c=1'];
    const run = headgate(['serve', ...args], { HEADGATE_FLEET_SIZE: '0', HEADGATE_DEADLINE: 'soon' });
    expect(await run.code).toBe(78);
    expect(run.err().trim().split('\n')).toEqual([
      expect.stringContaining("unknown option '--bogus'"),
      expect.stringContaining('HEADGATE_FLEET_SIZE: expected a whole number from 1 to 100000; got "0"'),
      expect.stringContaining('HEADGATE_DEADLINE: expected 1ms to 60s'),
      expect.stringContaining('--http-port: expected a port'),
      expect.stringContaining('--redis a: host number 1'),
      expect.stringContaining('--redis number 2 has no name'),
      expect.stringContaining('--weight: c is none of the servers (a)'),
    ]);
    expect(run.err()).not.toContain('hunter2');
  });

  it('ends with 78 for what only the library finds faulty: more shards than it takes', async () => {
    const run = headgate(['serve', '--http-port', '0', ...Array.from({ length: 257 }, (_, i) => ['--redis', `s${i}=redis://h`]).flat()]);
    expect(await run.code).toBe(78);
    expect(run.err()).toContain('expected 1 to 256 clients by name; got 257');
  });

  it('ends with 1 and one line if the port is taken', async () => {
    const first = headgate(['serve', '--http-port', '0']);
    const { port } = new URL(await urlOf(first));
    const second = headgate(['serve', '--http-port', port]);
    expect(await second.code).toBe(1);
    expect(second.err()).toContain('EADDRINUSE');
  });

  it('lives without its Redis, and keeps keys and passwords out of its logs', async () => {
    const file = rulesFile(
      'version: 1\nrules:\n  - { name: a, match: { path: /a }, key: [apiKey], limit: { fixedWindow: { limit: 5, window: 1h } } }\n',
    );
    const run = headgate(['serve', '--http-port', '0', '--rules', file, '--redis', 'redis://ada:hunter2@127.0.0.1:1'], {
      HEADGATE_LOG_LEVEL: 'trace',
    });
    const url = await urlOf(run);
    expect(run.out()).toContain('shared by every server');
    expect((await ask(`${url}/v1/gate/a`, { headers: { 'x-api-key': 'secret-key', 'x-forwarded-for': '9.9.9.9' } })).status).toBe(204);
    const ready = await ask(`${url}/readyz`);
    expect(ready.status).toBe(503);
    writeFileSync(file, 'version: 1\nrules: [{ name: a }]\n');
    await expect.poll(run.err, { timeout: 2000 }).toContain('rules.yaml:2');
    expect(run.err()).toContain('HEADGATE_SECRET is not set');
    expect(run.err().match(/no proxy is trusted/g)).toHaveLength(1);
    expect(run.err() + run.out() + ready.text).not.toMatch(/hunter2|secret-key|9\.9\.9\.9/);
    run.child.kill('SIGTERM');
    expect(await run.code).toBe(0);
  });
});

describe('headgate', () => {
  it('helps, tells its version, and refuses unknown commands', async () => {
    const help = headgate(['help', 'serve']);
    expect(await help.code).toBe(0);
    expect(help.out()).toContain('--http-port');
    const version = headgate(['version']);
    expect(await version.code).toBe(0);
    expect(version.out()).toMatch(/^\d+\.\d+\.\d+\n$/);
    const none = headgate([]);
    expect(await none.code).toBe(0);
    expect(none.out()).toContain('serve');
    const unknown = headgate(['swerve']);
    expect([await unknown.code, unknown.err()]).toEqual([64, expect.stringContaining('"swerve"; did you mean "serve"?')]);
  });

  it.each([
    [['rlues', 'list'], 'did you mean "rules"?'],
    [['rules', 'exprot'], 'did you mean "rules export"?'],
    [['help', 'quotas'], 'did you mean "quota"?'],
    [['help', 'key', 'shw'], 'did you mean "key show"?'],
    [['check', 'a', 'b', '--csot', '1'], 'did you mean --cost?'],
    [['serve', '--http'], 'did you mean --http-port?'],
    [['serve', '--hepl'], 'did you mean --help?'],
  ])('%j: suggests what was probably meant', async (args, suggested) => {
    const { code, err, out } = await ran(args);
    expect([64, 78]).toContain(code);
    expect(out).toBe('');
    expect(err).toContain(suggested);
  });

  it('suggests nothing for what is like nothing', async () => {
    expect((await ran(['xyzzy'])).err).not.toContain('did you mean');
    expect((await ran(['check', 'a', 'b', '--xyzzy'])).err).not.toContain('did you mean');
  });
});
