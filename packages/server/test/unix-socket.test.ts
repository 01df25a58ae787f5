import { existsSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { headgate } from './support/command.js';
import { start, temporary } from './support/service.js';

const soon = { timeout: 10_000, interval: 20 };

function ask(socketPath: string, path: string, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path, headers: { host: 'localhost', ...headers }, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

const byAddress = (trust: string): string =>
  `version: 1\nidentify: { trustProxies: ${trust} }\nrules:\n  - { name: a, match: { path: /a }, key: [ip], limit: { fixedWindow: { limit: 1, window: 1h } } }\n`;

describe('a service on a Unix socket', () => {
  it('answers there and only there, to its user and group, and takes the file away when it ends', async () => {
    const path = join(temporary(), 'headgate.sock');
    const { app, url } = await start({ flags: ['--socket', path, '--ops-port', '0'] });
    expect(url).toBe(`unix:${path}`);
    expect(await ask(path, '/healthz')).toMatchObject({ status: 200 });
    expect(statSync(path).mode & 0o777).toBe(0o660);
    await app.close();
    expect(existsSync(path)).toBe(false);
  });

  it('takes who connects for this machine: its address is 127.0.0.1, which may be trusted as a proxy', async () => {
    const paths = [join(temporary(), 'a.sock'), join(temporary(), 'b.sock')] as const;
    await start({ rules: byAddress('[]'), flags: ['--socket', paths[0]] });
    const gate = async (path: string, client: string) => (await ask(path, '/v1/gate/a', { 'x-forwarded-for': client })).status;
    expect([await gate(paths[0], '1.1.1.1'), await gate(paths[0], '2.2.2.2')]).toEqual([204, 429]);
    await start({ rules: byAddress('[127.0.0.1]'), flags: ['--socket', paths[1]] });
    expect([await gate(paths[1], '1.1.1.1'), await gate(paths[1], '2.2.2.2'), await gate(paths[1], '1.1.1.1')]).toEqual([204, 204, 429]);
  });

  it('serves the admin API to this machine without a token, and not to what a proxy brings in', async () => {
    const path = join(temporary(), 'headgate.sock');
    await start({ flags: ['--socket', path] });
    expect((await ask(path, '/admin/v1/traffic')).status).toBe(200);
    expect((await ask(path, '/admin/v1/traffic', { 'x-forwarded-for': '1.1.1.1' })).status).toBe(403);
    expect((await ask(path, '/admin/v1/traffic', { host: 'evil.example' })).status).toBe(403);
  });

  it('takes the place of one that was killed, not of one that lives, and nothing that is no socket', async () => {
    const path = join(temporary(), 'headgate.sock');
    const killed = headgate(['serve', '--socket', path]);
    await expect.poll(killed.out, soon).toContain(`--unix-socket ${path} http://localhost/v1/check`);
    const second = headgate(['serve', '--socket', path]);
    expect(await second.code).toBe(1);
    expect(second.err()).toContain(`--socket ${path}: another process listens there`);
    killed.child.kill('SIGKILL');
    await killed.code;
    expect(existsSync(path)).toBe(true);
    await start({ flags: ['--socket', path] });
    expect((await ask(path, '/healthz')).status).toBe(200);
    const file = join(temporary(), 'notes.txt');
    writeFileSync(file, 'mine');
    await expect(start({ flags: ['--socket', file] })).rejects.toThrow(/there is something else, and it is left alone/);
    await expect(start({ flags: ['--socket', `/tmp/${'x'.repeat(120)}`] })).rejects.toThrow(/at most 103 bytes/);
  });
});
