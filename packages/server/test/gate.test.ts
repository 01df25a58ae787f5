import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { linesAsked } from '../src/edge/http/asked.js';
import { headgate, urlOf } from './support/command.js';
import { ask, rulesFile, start } from './support/service.js';

const gateRules = (trust: string): string => `
version: 1
identify: { trustProxies: ${trust} }
rules:
  - { name: search, match: { method: GET, path: /search }, key: [apiKey], limit: { fixedWindow: { limit: 2, window: 1h } } }
  - { name: login, match: { method: POST, path: /login }, key: [account], limit: { fixedWindow: { limit: 1, window: 1d } } }
  - { name: perIp, match: { path: /login }, key: [ip], limit: { fixedWindow: { limit: 3, window: 1m } } }
  - { name: team, match: { path: "/teams/*" }, key: [header:x-team], missingKey: skip, limit: { fixedWindow: { limit: 1, window: 1h } } }
  - { name: other, limit: { fixedWindow: { limit: 0, window: 1h } } }
`;
const trusting = gateRules('[127.0.0.1]');
const alone = gateRules('[]');

describe('ANY /v1/gate', () => {
  it('passes what no rule matches, without fields', async () => {
    const { get } = await start({ rules: alone });
    for (const path of ['/v1/gate', '/v1/gate/', '/v1/gate/nothing', '/v1/gate?a=b']) {
      const { status, headers, text } = await get(path);
      expect([status, text, headers['ratelimit'], headers['content-length']]).toEqual([204, '', undefined, undefined]);
    }
  });

  it('passes with 204, then refuses with 429 and all that a client needs (case 35)', async () => {
    const { get } = await start({ rules: trusting });
    const asking = { headers: { 'x-original-method': 'GET', 'x-original-uri': '/search?q=a', 'x-api-key': 'k' } };
    const first = await get('/v1/gate', asking);
    expect([first.status, first.headers['ratelimit-policy']]).toEqual([204, '"search";q=2;w=3600']);
    expect(first.headers['ratelimit']).toMatch(/^"search";r=1;t=\d+$/);
    await get('/v1/gate', asking);
    const { status, headers, json } = await get('/v1/gate', asking);
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([429, 'application/problem+json', 'no-store']);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(json).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      status: 429,
      'violated-policies': ['search'],
    });
    expect((await get('/v1/gate', { headers: { ...asking.headers, 'x-api-key': 'other' } })).status).toBe(204);
  });

  it('shares its budgets with checks by name', async () => {
    const { get, post } = await start({ rules: alone });
    await get('/v1/gate/search', { headers: { authorization: 'Bearer k' } });
    expect((await post('/v1/peek', { rule: 'search', key: 'k' })).json.decision.remaining).toBe(1);
  });

  it('decides all rules that match as one group, and waits for the longest (case 34)', async () => {
    const { get } = await start({ rules: alone });
    const as = (account: string) => get('/v1/gate/login', { method: 'POST', headers: { 'x-account': account } });
    expect((await as('a')).headers['ratelimit']).toMatch(/^"login";r=0;t=\d+, "perIp";r=2;t=\d+$/);
    const refused = await as('a');
    expect(refused.json['violated-policies']).toEqual(['login']);
    expect((await as('b')).headers['ratelimit']).toMatch(/"perIp";r=1;/);
    await as('c');
    const both = await as('a');
    expect(both.json['violated-policies']).toEqual(['login', 'perIp']);
    expect(Number(both.headers['retry-after'])).toBeGreaterThan(60);
    expect((await as('d')).json['violated-policies']).toEqual(['perIp']);
  });

  it('refuses a request without the key with 403, unless the rule says skip (case 33)', async () => {
    const { get } = await start({ rules: alone });
    const { status, headers, json } = await get('/v1/gate/search');
    expect([status, headers['content-type']]).toEqual([403, 'application/problem+json']);
    expect(json.detail).toContain('apiKey');
    for (let i = 0; i < 3; i += 1) expect((await get('/v1/gate/teams/7')).status).toBe(204);
    await get('/v1/gate/teams/7', { headers: { 'x-team': 't' } });
    expect((await get('/v1/gate/teams/7', { headers: { 'x-team': 't' } })).status).toBe(429);
  });

  it('refuses a request that has two keys, whatever the rule says of none', async () => {
    const { get } = await start({ rules: alone });
    for (const [path, headers, part] of [
      ['/search', { 'x-api-key': ['k', 'made-up'] }, 'apiKey'],
      ['/teams/7', { 'x-team': ['t', 'made-up'] }, 'header:x-team'],
    ] as const) {
      const { status, json } = await get(`/v1/gate${path}`, { headers });
      expect([status, json.detail]).toEqual([403, expect.stringContaining(`several values of ${part}`)]);
    }
    expect((await get('/v1/gate/search', { headers: { 'x-api-key': ['k', 'k'] } })).headers['ratelimit']).toMatch(/r=1/);
  });

  it('answers ?refuse=403 with an empty 403 and the status in a field, as nginx needs it', async () => {
    const { get } = await start({ rules: trusting });
    const asking = { headers: { 'x-original-uri': '/search', 'x-api-key': 'k' } };
    for (let i = 0; i < 2; i += 1) expect((await get('/v1/gate?refuse=403', asking)).status).toBe(204);
    const { status, headers, text } = await get('/v1/gate?refuse=403', asking);
    expect([status, text, headers['content-length'], headers['x-headgate-status'], headers['cache-control']]).toEqual([
      403,
      '',
      '0',
      '429',
      'no-store',
    ]);
    expect(headers).toMatchObject({ 'ratelimit-policy': '"search";q=2;w=3600', 'retry-after': expect.stringMatching(/^\d+$/) });
    expect(headers).not.toHaveProperty('content-type');
    const missing = await get('/v1/gate?refuse=403', { headers: { 'x-original-uri': '/search' } });
    expect([missing.status, missing.headers['content-length'], missing.headers['x-headgate-status']]).toEqual([403, '0', '403']);
  });

  it('takes any method and any body, in any type', async () => {
    const { get } = await start({ rules: alone });
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'PROPFIND', 'PURGE', 'MKCOL', 'TRACE', 'QUERY']) {
      expect((await get('/v1/gate/x', { method })).status, method).toBe(204);
    }
    for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', 'nonsense', '']) {
      const headers = { 'x-api-key': 'k', ...(type === '' ? undefined : { 'content-type': type }) };
      expect((await get('/v1/gate/x', { method: 'POST', headers, body: '{"not json' })).status, type).toBe(204);
    }
    const large = { method: 'POST', headers: { 'content-type': 'application/json' }, body: 'x'.repeat(1_000_000) };
    expect((await get('/v1/gate/x', large)).status).toBe(204);
  });

  it('keeps its connection: ten answers of each kind, one connection', async () => {
    const { url } = await start({ rules: trusting });
    for (const headers of [{ 'x-original-uri': '/none' }, { 'x-original-uri': '/search', 'x-api-key': 'k' }]) {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const ports = new Set<number | undefined>();
      for (let i = 0; i < 10; i += 1) {
        await new Promise<void>((resolve, reject) => {
          request(`${url}/v1/gate?refuse=403`, { agent, headers }, (response) => {
            ports.add(response.socket.localPort);
            response.resume().on('end', resolve);
          })
            .on('error', reject)
            .end();
        });
      }
      agent.destroy();
      expect(ports.size).toBe(1);
    }
  });

  it('says the length of an empty body, and of a 204 nothing (RFC 9110, section 8.6)', async () => {
    const { url } = await start({ rules: trusting });
    const raw = (uri: string) =>
      new Promise<string>((resolve) => {
        const socket = connect(Number(new URL(url).port), '127.0.0.1');
        let text = '';
        socket.on('data', (chunk) => (text += String(chunk))).on('close', () => resolve(text.toLowerCase()));
        socket.write(`GET /v1/gate?refuse=403 HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx-original-uri: ${uri}\r\n\r\n`);
      });
    expect(await raw('/search')).toMatch(/^http\/1\.1 403 .*content-length: 0\r\n/s);
    expect(await raw('/none')).not.toMatch(/content-length|transfer-encoding/);
  });
});

describe('a request that more than 64 rules match', () => {
  const rule = (n: number, more: string): string =>
    `  - { name: r${n}, match: { path: "/a/${more}" }, key: [header:x-k], missingKey: skip, limit: { unlimited: {} } }`;
  const rules = `version: 1\nrules:\n${Array.from({ length: 65 }, (_, n) => rule(n, n < 32 ? ':x' : '*')).join('\n')}\n`;

  it('is refused with 503 that names the mend, under every rule or under none, and is counted', async () => {
    const { get } = await start({ rules });
    const asking = { headers: { 'x-k': 'k' } };
    const { status, headers, json } = await get('/v1/gate/a/b', asking);
    expect([status, headers['content-type']]).toEqual([503, 'application/problem+json']);
    expect(json.detail).toMatch(
      /^65 rules match this request, and at most 64 .*nothing is wrong with the request.* narrow what they match/,
    );
    const forNginx = await get('/v1/gate?refuse=403', { headers: { 'x-original-uri': '/a/b', 'x-k': 'k' } });
    expect([forNginx.status, forNginx.text, forNginx.headers['x-headgate-status']]).toEqual([403, '', '503']);
    expect((await get('/metrics')).text).toContain('headgate_too_many_rules_total 2');
    // Fewer match, or are skipped.
    expect((await get('/v1/gate/a/b/c', asking)).status).toBe(204);
    expect((await get('/v1/gate/a/b')).status).toBe(204);
  });

  it('is one line of the log, with the rules, however many requests come', async () => {
    const run = headgate(['serve', '--http-port', '0', '--rules', rulesFile(rules)]);
    const url = await urlOf(run);
    for (let i = 0; i < 3; i += 1) expect((await ask(`${url}/v1/gate/a/b`, { headers: { 'x-k': 'k' } })).status).toBe(503);
    await expect
      .poll(() => run.log().filter(({ level }) => Number(level) >= 50))
      .toEqual([
        expect.objectContaining({ event: 'too-many-rules', rules: 65, msg: expect.stringMatching(/"r0", "r1", .* and 55 more$/) }),
      ]);
  });
});

describe('what a gateway asks about', () => {
  const asked = (headers: Record<string, string | string[]>, { trusted = true, url = '/v1/gate', method = 'GET' } = {}) => {
    const distinct = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat()]));
    return linesAsked({ method, url, headers: distinct, trusted });
  };

  it('is named by X-Original-*, else by X-Forwarded-*, else it is the request itself', () => {
    expect(asked({ 'x-original-uri': '/a', 'x-original-method': 'PUT' })).toEqual([{ target: '/a', method: 'PUT' }]);
    expect(asked({ 'x-original-uri': '/a' })).toEqual([{ target: '/a', method: 'GET' }]);
    expect(asked({ 'x-forwarded-uri': '/a', 'x-forwarded-method': 'POST' })).toEqual([{ target: '/a', method: 'POST' }]);
    expect(asked({}, { url: '/v1/gate/a/b?c=d', method: 'POST' })).toEqual([{ target: '/a/b?c=d', method: 'POST' }]);
    expect(asked({})).toEqual([{ target: '/', method: 'GET' }]);
  });

  it('is not named by X-Forwarded-* of a peer that is not trusted', () => {
    expect(asked({ 'x-forwarded-uri': '/a', 'x-forwarded-method': 'POST' }, { trusted: false, url: '/v1/gate/b' })).toEqual([
      { target: '/b', method: 'GET' },
    ]);
  });

  it('keeps the rules it has, whatever field a client adds', () => {
    expect(asked({ 'x-original-uri': '/free', 'x-forwarded-uri': '/a' })).toContainEqual({ target: '/a', method: 'GET' });
    expect(asked({ 'x-original-uri': ['/free', '/a'] })).toContainEqual({ target: '/a', method: 'GET' });
    for (const trusted of [true, false]) {
      expect(asked({ 'x-original-uri': '/free' }, { trusted, url: '/v1/gate/a' })).toContainEqual({ target: '/a', method: 'GET' });
      expect(asked({ 'x-original-uri': '/free' }, { trusted, url: '/v1/gate/' })).toContainEqual({ target: '/', method: 'GET' });
    }
  });

  it('is one request: fields that name more than a gateway ever does are refused, and make no work', async () => {
    const { get } = await start({ rules: alone });
    const fields = Array.from({ length: 300 }, (_, index) => `${index}`);
    const since = performance.now();
    const { status, json } = await get('/v1/gate', {
      headers: { 'x-original-uri': fields.map((n) => `/${n}`), 'x-original-method': fields },
    });
    expect([status, json.errors[0].detail]).toEqual([400, expect.stringContaining('overwrite')]);
    expect(performance.now() - since).toBeLessThan(1000);
    expect(asked({ 'x-original-uri': Array.from({ length: 300 }, () => '/a') })).toEqual([{ target: '/a', method: 'GET' }]);
  });

  it('is counted by the address that a trusted peer tells, and by no forged one (case 32)', async () => {
    const { get } = await start({ rules: trusting });
    const from = (forwarded: string) =>
      get('/v1/gate', { headers: { 'x-forwarded-method': 'GET', 'x-forwarded-uri': '/login', 'x-forwarded-for': forwarded } });
    for (const left of ['1.1.1.1, ', '2.2.2.2, ', '']) expect((await from(`${left}9.9.9.9`)).status).toBe(204);
    expect((await from('3.3.3.3, 9.9.9.9')).status).toBe(429);
    expect((await from('9.9.9.8')).status).toBe(204);
  });

  it('is counted by the socket where nobody is trusted, whatever it says (cases 31 and 32)', async () => {
    const { get } = await start({ rules: alone });
    const from = (address: string) => get('/v1/gate/login', { headers: { 'x-forwarded-for': address } });
    for (const address of ['1.1.1.1', '2.2.2.2', '3.3.3.3']) expect((await from(address)).status).toBe(204);
    expect((await from('4.4.4.4')).status).toBe(429);
  });
});
