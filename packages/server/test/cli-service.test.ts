import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { readDatabaseUrl } from '../src/database/address.js';
import { openDatabase } from '../src/database/open.js';
import { ran } from './support/command.js';
import { later, start, temporary } from './support/service.js';

const rules = `version: 1
rules:
  - { name: search, key: [apiKey], limit: { fixedWindow: { limit: 2, window: 1h } } }
  - { name: watched, key: [apiKey], shadow: true, limit: { fixedWindow: { limit: 0, window: 1h } } }
  - { name: monthly, key: [account], limit: { quota: { limit: 1000, period: month } }, plans: { pro: { quota: { limit: 5000, period: month } } } }
`;

/** A command against a service with these rules. */
async function serving(): Promise<(...args: string[]) => ReturnType<typeof ran>> {
  const { url } = await start({ rules });
  return (...args) => ran([...args], { HEADGATE_URL: url });
}

/** What is no Headgate. */
async function listening(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  later(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('headgate check', () => {
  it('ends with 0 if allowed and 1 if refused, and says when it can pass', async () => {
    const of = await serving();
    expect(await of('check', 'search', 'k', '--cost', '2')).toMatchObject({
      code: 0,
      out: expect.stringContaining('0 of 2 left') as string,
    });
    const refused = await of('check', 'search', 'k');
    expect(refused.code).toBe(1);
    expect(refused.out).toMatch(/^refused {2}"search" "k": 0 of 2 left, limited, can pass in \d+ (min|s)/);
    expect(await of('check', 'search', 'k', '--json')).toMatchObject({
      code: 1,
      json: { allowed: false, decision: { reason: 'limited' } },
    });
    expect((await of('check', 'watched', 'k')).out).toContain('only observing, would be refused');
  });

  it('takes nothing with --peek', async () => {
    const of = await serving();
    for (let i = 0; i < 3; i += 1) expect((await of('check', 'search', 'k', '--cost', '2', '--peek')).code).toBe(0);
  });

  it('ends with neither for what the service does not take', async () => {
    const of = await serving();
    expect(await of('check', 'nope', 'k')).toMatchObject({ code: 65, err: expect.stringContaining('no rule of this name') as string });
    expect(await of('check', 'search', '')).toMatchObject({ code: 65, err: expect.stringContaining('a key is not empty') as string });
    expect(await of('check', 'search', 'k', '--cost', '0')).toMatchObject({ code: 78 });
    expect(await of('check', 'search')).toMatchObject({
      code: 78,
      err: 'expected RULE KEY beside the flags; got 1 arguments; see headgate help check\n',
    });
  });
});

describe('headgate key', () => {
  it('shows why a key is refused; bans, unbans and resets it', async () => {
    const of = await serving();
    expect((await of('key', 'show', 'k', '--rule', 'search')).out).toMatch(/^RULE +STATE +LEFT.*\nsearch +passes +2 +2\n$/);
    expect((await of('key', 'ban', 'search', 'k', '--for', '2h')).out).toBe(
      'rule "search": this key is banned for 2 h; headgate key unban lifts it\n',
    );
    expect((await of('key', 'show', 'k')).out).toMatch(/^search +banned +0 +2 +2 h/m);
    expect((await of('key', 'unban', 'search', 'k')).code).toBe(0);
    await of('check', 'search', 'k', '--cost', '2');
    expect((await of('key', 'show', 'k', '--json')).json).toMatchObject({ key: 'k', states: [{ rule: 'search', reason: 'limited' }, {}] });
    expect((await of('key', 'reset', 'search', 'k')).code).toBe(0);
    expect((await of('check', 'search', 'k')).code).toBe(0);
  });

  it('takes keys that are no part of a path elsewhere', async () => {
    const of = await serving();
    for (const key of ['..', '.', 'a/b?c#d', 'ключ 😀', '%2e%2e']) {
      expect((await of('check', 'search', key)).code, key).toBe(0);
      expect((await of('key', 'show', key, '--rule', 'search', '--json')).json.states, key).toMatchObject([{ remaining: 1 }]);
    }
  });

  it('knows the rules in force, and how long a ban may be', async () => {
    const of = await serving();
    expect(await of('key', 'show', 'k', '--rule', 'nope')).toMatchObject({
      code: 65,
      err: expect.stringContaining('headgate rules list') as string,
    });
    expect(await of('key', 'ban', 'search', 'k')).toMatchObject({ code: 78, err: expect.stringContaining('--for 10m') as string });
    expect(await of('key', 'ban', 'search', 'k', '--for', '9999d')).toMatchObject({ code: 78 });
  });
});

describe('headgate quota', () => {
  it('shows and sets what a customer has used, under his plan', async () => {
    const of = await serving();
    expect((await of('quota', 'set', 'monthly', 'ann', '900')).out).toMatch(/^monthly +900 +1000 +90 +\d{4}-\d\d-01 00:00:00Z/m);
    expect((await of('quota', 'show', 'ann', '--plan', 'pro', '--json')).json).toMatchObject({
      key: 'ann',
      quotas: [{ rule: 'monthly', used: 900, limit: 5000, startsAt: expect.stringMatching(/-01T00:00:00.000Z$/) as string }],
    });
    expect(await of('quota', 'set', 'monthly', 'ann', '-1')).toMatchObject({ code: 78 });
    expect(await of('quota', 'set', 'monthly', 'ann', '9000000001')).toMatchObject({ code: 78 });
    expect(await of('quota', 'set', 'search', 'ann', '1')).toMatchObject({ code: 65, err: expect.stringContaining('no quota') as string });
  });
});

describe('a command that asks a service', () => {
  it('tells in one line where none is, and what to do', async () => {
    const told = async (args: string[], text: string): Promise<void> => {
      const { code, err, out } = await ran(['check', 'search', 'k', ...args]);
      expect({ code, out, lines: err.trim().split('\n').length }, err).toEqual({ code: 69, out: '', lines: 1 });
      expect(err).toContain(text);
    };
    await told(['--url', 'http://127.0.0.1:1'], 'headgate serve');
    await told(['--url', 'http://nowhere.invalid'], 'has no address');
    await told(['--url', await listening((_, response) => response.end('<html>'))], 'is no Headgate');
    await told(['--url', await listening((_, response) => response.writeHead(404).end('not here'))], 'is no Headgate');
    await told(['--url', await listening(() => undefined), '--timeout', '200ms'], 'no answer within 200 ms');
    await told(['--url', (await listening(() => undefined)).replace('http', 'https')], 'is it http:// there');
    await told(['--url', await listening((_, response) => response.socket?.destroy())], 'connection failed');
  });

  it('shows neither a password in the address nor the token', async () => {
    const secrets = { HEADGATE_TOKEN: 'headgate_hunter2hunter2' };
    const bad = await ran(['key', 'show', 'k', '--url', 'http://ada:hunter2@h']);
    expect(bad).toMatchObject({ code: 78, err: expect.stringContaining('--url: expected no user') as string });
    const worse = await ran(['key', 'show', 'k', '--url', 'ada:hunter2@h'], secrets);
    const flag = await ran(['key', 'show', 'k', '--token', '-hunter2']);
    expect(flag).toMatchObject({ code: 78, err: expect.stringContaining('set HEADGATE_TOKEN instead') as string });
    const line = await ran(['key', 'show', 'k'], { HEADGATE_TOKEN: 'hunter2\nhunter2hunter2' });
    const none = await ran(['key', 'show', 'k', '--url', 'http://127.0.0.1:1'], secrets);
    expect([worse.code, line.code, none.code]).toEqual([78, 78, 69]);
    for (const { out, err } of [bad, worse, flag, line, none]) expect(out + err).not.toContain('hunter2');
  });

  it('needs a token where there is one, of a role that may', async () => {
    const database = `sqlite:${join(temporary(), 'rules.db')}`;
    const { tokens, rules: stored, close } = openDatabase(readDatabaseUrl(database));
    await stored.importAll({
      base: 0,
      author: 'a',
      reason: '',
      file: { version: 1, rules: [{ name: 'search', limit: { fixedWindow: { limit: 1, window: '1h' } } }] },
    });
    const { token: reader } = await tokens.create({ name: 'r', role: 'read', by: 'a' });
    const { token: operator } = await tokens.create({ name: 'o', role: 'operate', by: 'a' });
    await close();
    const { url } = await start({ flags: ['--database', database] });
    const reset = (env: Record<string, string>) => ran(['key', 'reset', 'search', 'k', '--url', url], env);
    expect(await reset({})).toMatchObject({ code: 77, err: expect.stringContaining('set HEADGATE_TOKEN') as string });
    expect(await reset({ HEADGATE_TOKEN: 'headgate_wrongwrongwrong' })).toMatchObject({ code: 77 });
    expect(await reset({ HEADGATE_TOKEN: reader })).toMatchObject({
      code: 77,
      err: expect.stringContaining('needs the role operate') as string,
    });
    expect(await reset({ HEADGATE_TOKEN: operator })).toMatchObject({ code: 0, err: '' });
  });

  it('trusts the issuer that it is told, and no other', async () => {
    const folder = temporary();
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-keyout', key, '-out', cert, ...subject], {
      stdio: 'ignore',
    });
    const { app } = await start({ rules });
    // A TLS proxy before it.
    const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
      void (async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        const answer = await fetch(app.url + (request.url ?? ''), {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: Buffer.concat(chunks),
        });
        response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(await answer.text());
      })();
    }).listen(0);
    await once(server, 'listening');
    later(() => server.close());
    const url = `https://localhost:${(server.address() as AddressInfo).port}`;
    expect(await ran(['check', 'search', 'k', '--url', url, '--ca', cert])).toMatchObject({ code: 0 });
    expect(await ran(['check', 'search', 'k', '--url', url])).toMatchObject({
      code: 69,
      err: expect.stringContaining('--ca FILE') as string,
    });
    expect(await ran(['check', 'search', 'k', '--url', url, '--ca', '/nowhere'])).toMatchObject({ code: 78 });
  });
});
