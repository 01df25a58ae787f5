import fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../src/database/open.js';
import { readDatabaseUrl } from '../src/database/address.js';
import { DatabaseError } from '../src/database/errors.js';
import { adminEndpoints } from '../src/edge/http/admin/register.js';
import { route } from '../src/edge/http/admin/route.js';
import { serve } from '../src/edge/http/endpoint.js';
import { problemErrors } from '../src/edge/http/errors.js';
import { nginx, startNginx } from './support/nginx.js';
import { ask, later, start, temporary, type Started } from './support/service.js';
import { join } from 'node:path';

const file = {
  version: 1,
  rules: [
    { name: 'search', match: { path: '/search' }, key: ['apiKey'], limit: { fixedWindow: { limit: 2, window: '1h' } } },
    { name: 'monthly', key: ['account'], limit: { quota: { limit: 10, period: 'month' } } },
  ],
};

/** A server over a database of its own with two rules in it. */
async function serving(): Promise<Started & { url: string; database: string }> {
  const database = `sqlite:${join(temporary(), 'rules.db')}`;
  const opened = openDatabase(readDatabaseUrl(database));
  await opened.rules.importAll({ base: 0, author: 'test', reason: 'first', file });
  await opened.close();
  return { ...(await start({ flags: ['--database', database] })), database };
}

const json = (url: string, method: string, body?: unknown, headers: Record<string, string> = {}) =>
  ask(url, {
    method,
    headers: { ...(body === undefined ? undefined : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? undefined : { body: JSON.stringify(body) }),
  });

const check = async (url: string, rule: string, key: string): Promise<boolean> =>
  (await json(`${url}/v1/check`, 'POST', { rule, key })).json.allowed as boolean;

describe('the admin API', () => {
  it('tells the rules with their version, and changes one: in force within two seconds, a version with author and reason', async () => {
    const { url } = await serving();
    const { json: set, headers } = await json(`${url}/admin/v1/rules`, 'GET');
    expect(set).toMatchObject({ version: 1, rules: { search: { limit: { fixedWindow: { limit: 2 } } } } });
    expect(headers['etag']).toBe('"1"');
    const rule = { ...file.rules[0], limit: { fixedWindow: { limit: 3, window: '1h' } } };
    const changed = await json(`${url}/admin/v1/rules/search`, 'PUT', { rule, reason: 'too strict' }, { 'if-match': '"1"' });
    expect(changed).toMatchObject({ status: 200, json: { version: 2, differences: [{ name: 'search' }] } });
    await expect
      .poll(async () => (await json(`${url}/v1/peek`, 'POST', { rule: 'search', key: 'k' })).json.decision.limit as number, {
        timeout: 2000,
      })
      .toBe(3);
    const { json: history } = await json(`${url}/admin/v1/versions`, 'GET');
    expect(history.versions[0]).toMatchObject({ number: 2, author: 'local', reason: 'too strict' });
    const { json: diff } = await json(`${url}/admin/v1/diff?from=1&to=2`, 'GET');
    expect(diff.differences).toHaveLength(1);
    const back = await json(`${url}/admin/v1/rollback`, 'POST', { to: 1, reason: 'was right' }, { 'if-match': '"2"' });
    expect(back.json).toMatchObject({ version: 3 });
  });

  it('refuses an edit of who did not see the latest, and one that does not say what it saw; nothing is lost', async () => {
    const { url } = await serving();
    const rule = file.rules[0];
    await json(`${url}/admin/v1/rules/other`, 'PUT', { rule: { ...rule, name: 'other' } }, { 'if-match': '"1"' });
    const late = await json(`${url}/admin/v1/rules/third`, 'PUT', { rule: { ...rule, name: 'third' } }, { 'if-match': '"1"' });
    expect(late.status).toBe(412);
    expect(late.json.detail).toContain('added rule "other"');
    expect((await json(`${url}/admin/v1/rules/third`, 'DELETE')).status).toBe(428);
    expect(Object.keys((await json(`${url}/admin/v1/rules`, 'GET')).json.rules as object).sort()).toEqual(['monthly', 'other', 'search']);
  });

  it('tells every fault of rules that cannot be used, and changes nothing', async () => {
    const { url } = await serving();
    const rule = { key: ['apikeys'], limit: { fixedWindow: { limit: 1, window: '1h' } } };
    const answer = await json(`${url}/admin/v1/rules/wrong`, 'PUT', { rule }, { 'if-match': '"1"' });
    expect(answer.status).toBe(422);
    expect(answer.json.errors).toEqual([{ pointer: '"wrong"', detail: expect.stringContaining('did you mean "apiKey"') as string }]);
    expect((await json(`${url}/admin/v1/rules`, 'GET')).json.version).toBe(1);
  });

  it('switches a rule to observe only, and back', async () => {
    const { url } = await serving();
    for (const allowed of [true, true, false]) expect(await check(url, 'search', 'k')).toBe(allowed);
    await json(`${url}/admin/v1/shadows/search`, 'PUT', { on: true });
    await expect.poll(() => check(url, 'search', 'k'), { timeout: 2000 }).toBe(true);
    await json(`${url}/admin/v1/shadows/search`, 'DELETE');
    await expect.poll(() => check(url, 'search', 'k'), { timeout: 2000 }).toBe(false);
  });

  it('gives one customer another limit, and exempts one; units used stay used', async () => {
    const { url } = await serving();
    for (const allowed of [true, true, false]) expect(await check(url, 'search', 'k')).toBe(allowed);
    await json(`${url}/admin/v1/overrides/search/k`, 'PUT', {
      limit: { fixedWindow: { limit: 3, window: '1h' } },
      until: '2099-01-01T00:00:00Z',
    });
    await expect.poll(() => check(url, 'search', 'k'), { timeout: 2000 }).toBe(true);
    expect(await check(url, 'search', 'k')).toBe(false);
    await json(`${url}/admin/v1/exemptions`, 'PUT', { rule: '*', kind: 'key', subject: 'k', reason: 'our own monitor' });
    await expect.poll(() => check(url, 'search', 'k'), { timeout: 2000 }).toBe(true);
    expect((await json(`${url}/admin/v1/exemptions?rule=*&kind=key&subject=k`, 'DELETE')).status).toBe(204);
    await expect.poll(() => check(url, 'search', 'k'), { timeout: 2000 }).toBe(false);
  });

  it('tells how a key stands under every rule and why it is refused; resets, bans, lifts a ban', async () => {
    const { url } = await serving();
    for (let i = 0; i < 2; i += 1) await check(url, 'search', 'k');
    const key = `${url}/admin/v1/keys/k`;
    expect((await json(key, 'GET')).json).toMatchObject({
      rules: 2,
      states: [{ rule: 'search', remaining: 0, wouldAllow: false, reason: 'limited' }],
    });
    expect((await json(`${key}/reset`, 'POST', { rule: 'search' })).status).toBe(204);
    expect((await json(key, 'GET')).json.states).toEqual([]);
    await json(`${key}/ban`, 'POST', { rule: 'search', forMs: 60_000 });
    expect((await json(key, 'GET')).json.states).toMatchObject([{ rule: 'search', reason: 'banned' }]);
    await json(`${key}/unban`, 'POST', { rule: 'search' });
    expect(await check(url, 'search', 'k')).toBe(true);
    const { json: audit } = await json(`${url}/admin/v1/audit`, 'GET');
    expect((audit.entries as { what: string }[]).slice(0, 3).map(({ what }) => what)).toEqual(['key.unban', 'key.ban', 'key.reset']);
    expect(audit.entries[1]).toMatchObject({ who: 'local', detail: { rule: 'search', key: 'k', forMs: 60_000 } });
  });

  it('wants a token as soon as there is one, of the role that the endpoint needs', async () => {
    const { url } = await serving();
    const make = (name: string, role: string, token?: string) =>
      json(`${url}/admin/v1/tokens`, 'POST', { name, role }, token === undefined ? {} : { authorization: `Bearer ${token}` });
    const edit = (await make('ann', 'edit')).json.token as string;
    expect((await json(`${url}/admin/v1/rules`, 'GET')).status).toBe(401);
    const reader = (await make('bob', 'read', edit)).json.token as string;
    const as = (token: string) => ({ authorization: `Bearer ${token}` });
    expect((await json(`${url}/admin/v1/rules`, 'GET', undefined, as(reader))).status).toBe(200);
    const refused = await json(`${url}/admin/v1/keys/k/reset`, 'POST', { rule: 'search' }, as(reader));
    expect(refused).toMatchObject({ status: 403, json: { detail: expect.stringContaining('needs the role operate') as string } });
    expect((await json(`${url}/admin/v1/rules`, 'GET', undefined, as('x'.repeat(43)))).status).toBe(401);
    const { json: audit } = await json(`${url}/admin/v1/audit`, 'GET', undefined, as(reader));
    expect(audit.entries[0]).toMatchObject({ who: 'ann', what: 'token.create' });
    expect(JSON.stringify(audit)).not.toContain(reader);
  });

  it('without a token serves only this machine: not who comes through a proxy, nor a page that calls itself by another name', async () => {
    const { url } = await serving();
    for (const headers of [
      { 'x-forwarded-for': '203.0.113.7' },
      { forwarded: 'for=203.0.113.7' },
      { 'x-real-ip': '203.0.113.7' },
      { via: '1.1 proxy' },
      { 'x-forwarded-proto': 'https' },
      { 'x-forwarded-port': '443' },
      { 'x-original-uri': '/admin/v1/rules' },
      { 'cf-connecting-ip': '203.0.113.7' },
      { host: 'attacker.example' },
    ]) {
      expect((await json(`${url}/admin/v1/rules`, 'GET', undefined, headers)).status).toBe(403);
    }
  });

  it('without a token does not serve who comes through a plain nginx on this machine', async ({ skip }) => {
    const found = nginx();
    if ('reason' in found) return skip(found.reason);
    const { url } = await serving();
    const proxy = await startNginx(found.file, `server { listen 127.0.0.1:PORT; location / { proxy_pass ${url}; } }`);
    expect((await json(`${proxy}/healthz`, 'GET')).status).toBe(200);
    expect((await json(`${proxy}/admin/v1/rules`, 'GET')).status).toBe(403);
    expect((await json(`${url}/admin/v1/rules`, 'GET')).status).toBe(200);
  });

  it('refuses a field that no edit has: nothing is changed that was not meant', async () => {
    const { url } = await serving();
    const base = { 'if-match': '"1"' };
    const rule = file.rules[0];
    for (const [path, method, body] of [
      ['changes', 'POST', { removes: ['search'] }],
      ['rules/search', 'PUT', { rule, reasons: 'x' }],
      ['rollback', 'POST', { to: 0, force: true }],
    ] as const) {
      const { status, json: problem } = await json(`${url}/admin/v1/${path}`, method, body, base);
      expect([status, problem.errors[0].detail]).toEqual([400, 'unknown field']);
    }
    expect((await json(`${url}/admin/v1/rules`, 'GET')).json.version).toBe(1);
  });

  it('is not told by a plan of our own that a client names: nobody exempts himself', async () => {
    const { url } = await serving();
    await json(`${url}/admin/v1/exemptions`, 'PUT', { rule: 'search', kind: 'key', subject: 'monitor' });
    const limitUnder = async (plan: string): Promise<number> =>
      (await json(`${url}/v1/peek`, 'POST', { rule: 'search', key: 'k', plan })).json.decision.limit as number;
    const peekMonitor = async (): Promise<unknown> =>
      (await json(`${url}/v1/peek`, 'POST', { rule: 'search', key: 'monitor' })).json.decision.limit;
    await expect.poll(peekMonitor, { timeout: 2000 }).toBeNull();
    expect(await limitUnder('\0exempt')).toBe(2);
    expect((await json(`${url}/v1/quotas/k?plan=%00exempt`, 'GET')).json.quotas).toHaveLength(1);
  });

  it('tells a key under the override that holds for it', async () => {
    const { url } = await serving();
    for (let i = 0; i < 2; i += 1) await check(url, 'search', 'k');
    await json(`${url}/admin/v1/overrides/search/k`, 'PUT', { limit: { fixedWindow: { limit: 5, window: '1h' } } });
    await expect
      .poll(async () => (await json(`${url}/admin/v1/keys/k`, 'GET')).json.states as unknown, { timeout: 2000 })
      .toMatchObject([{ rule: 'search', limit: 5, remaining: 3, wouldAllow: true }]);
  });

  it('exempts an account from consecutive failures: let through without an id, so that no outcome need be told', async () => {
    const { url } = await serving();
    const login = { rule: { key: ['account'], limit: { consecutiveFailures: {} } } };
    await json(`${url}/admin/v1/rules/login`, 'PUT', login, { 'if-match': '"1"' });
    await json(`${url}/admin/v1/exemptions`, 'PUT', { rule: 'login', kind: 'key', subject: 'ann' });
    const decisionOf = async (key: string) =>
      (await json(`${url}/v1/check`, 'POST', { rule: 'login', key })).json.decision as { limit: unknown; id?: string };
    await expect.poll(async () => (await decisionOf('ann'))?.limit, { timeout: 2000 }).toBeNull();
    expect(await decisionOf('ann')).not.toHaveProperty('id');
    expect((await decisionOf('bob')).id).toEqual(expect.any(String));
  });

  it('takes keys of any length and letters in its paths', async () => {
    const { url } = await serving();
    for (const key of ['x'.repeat(300), '["alice","a/b?c#d%e"]', 'ä/../ö', '\0']) {
      const at = `${url}/admin/v1/keys/${encodeURIComponent(key)}`;
      await check(url, 'search', key);
      expect((await json(at, 'GET')).json.states).toMatchObject([{ rule: 'search', remaining: 1 }]);
      expect((await json(`${at}/reset`, 'POST', { rule: 'search' })).status).toBe(204);
      expect((await json(at, 'GET')).json.states).toEqual([]);
    }
  });

  it('resets a quota for good: its checkpoint does not bring it back', async () => {
    const { url } = await serving();
    await json(`${url}/v1/check`, 'POST', { rule: 'monthly', key: 'alice', cost: 9 });
    expect((await json(`${url}/admin/v1/keys/alice/reset`, 'POST', { rule: 'monthly' })).status).toBe(204);
    const once = async (): Promise<number> =>
      (await json(`${url}/v1/check`, 'POST', { rule: 'monthly', key: 'alice' })).json.decision.remaining as number;
    expect([await once(), await once()]).toEqual([9, 8]);
  });

  it('is served to who has a right to it alone, however the request is written', async () => {
    const { url } = await serving();
    const { json: made } = await json(`${url}/admin/v1/tokens`, 'POST', { name: 'ann', role: 'edit' });
    for (const path of ['rules', 'rules/', '/rules', 'rules%2Fsearch', 'rules/search', '%72ules', 'rules?x=1', 'Rules', './rules']) {
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']) {
        const { status } = await json(`${url}/admin/v1/${path}`, method);
        expect([401, 404, 405]).toContain(status);
      }
    }
    const { status } = await json(`${url}/admin/v1/rules`, 'GET', undefined, { authorization: `bearer  ${made.token as string}` });
    expect(status).toBe(200);
  });

  it('believes a token no longer that was revoked here', async () => {
    const { url } = await serving();
    const { json: made } = await json(`${url}/admin/v1/tokens`, 'POST', { name: 'ann', role: 'edit' });
    const ann = { authorization: `Bearer ${made.token as string}` };
    const { json: second } = await json(`${url}/admin/v1/tokens`, 'POST', { name: 'bob', role: 'read' }, ann);
    const bob = { authorization: `Bearer ${second.token as string}` };
    expect((await json(`${url}/admin/v1/rules`, 'GET', undefined, bob)).status).toBe(200);
    expect((await json(`${url}/admin/v1/tokens/bob`, 'DELETE', undefined, ann)).status).toBe(204);
    expect((await json(`${url}/admin/v1/rules`, 'GET', undefined, bob)).status).toBe(401);
  });

  it('tells in its OpenAPI document every status that it answers', async () => {
    const { url } = await serving();
    const { json: document } = await json(`${url}/admin/v1/openapi.json`, 'GET');
    const told = (path: string, method: string): string[] => Object.keys(document.paths[`/admin/v1${path}`][method].responses as object);
    const base = { 'if-match': '"1"' };
    const answers = [
      ['/rules', 'get', await json(`${url}/admin/v1/rules?version=99`, 'GET')],
      ['/diff', 'get', await json(`${url}/admin/v1/diff?from=1&to=99`, 'GET')],
      ['/rollback', 'post', await json(`${url}/admin/v1/rollback`, 'POST', { to: 99 }, base)],
      ['/exemptions', 'delete', await json(`${url}/admin/v1/exemptions?rule=*&kind=key&subject=k`, 'DELETE')],
      ['/rules/{name}', 'put', await json(`${url}/admin/v1/rules/x`, 'PUT', { rule: { limit: { unlimited: {} }, match: {} } }, base)],
      ['/rules/{name}', 'delete', await json(`${url}/admin/v1/rules/x`, 'DELETE', undefined, base)],
    ] as const;
    for (const [path, method, { status }] of answers) {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(told(path, method)).toContain(String(status));
    }
  });

  it('answers 503 where the store is away, and can be asked again', async () => {
    const { url } = await start({ redis: 'redis://127.0.0.1:1', deadline: '50ms' });
    for (const [verb, body] of Object.entries({ reset: {}, ban: { forMs: 1000 }, unban: {} })) {
      const rule = (await json(`${url}/admin/v1/keys/k?all=true`, 'GET')).json.states[0].rule as string;
      const { status } = await json(`${url}/admin/v1/keys/k/${verb}`, 'POST', { rule, ...body });
      expect(status).toBe(503);
    }
  });

  it('does not tell where the database is to who has not shown a token', async () => {
    const file = join(temporary(), 'rules.db');
    const away = (): Promise<never> => Promise.reject(new DatabaseError('unreachable', `sqlite:${file}: it does not answer`));
    const server = fastify();
    later(() => server.close());
    problemErrors(server);
    const routes = [route({ method: 'GET', path: '/thing', role: 'read', summary: '', run: () => Promise.resolve({}) })];
    serve(server, adminEndpoints({ routes, hasTokens: away, bearerOf: away }));
    for (const headers of [{}, { authorization: 'Bearer x' }]) {
      const answer = await server.inject({ url: '/admin/v1/thing', headers });
      expect(answer.statusCode).toBe(503);
      expect(answer.body).not.toContain(file);
    }
  });

  it('tells its own OpenAPI document, of every route', async () => {
    const { url } = await serving();
    const { json: document } = await json(`${url}/admin/v1/openapi.json`, 'GET');
    expect(document.openapi).toBe('3.1.0');
    expect(Object.keys(document.paths as object)).toEqual(
      expect.arrayContaining(['/admin/v1/rules/{name}', '/admin/v1/keys/{key}', '/admin/v1/audit']),
    );
    expect(document.paths['/admin/v1/rules/{name}'].put.parameters).toContainEqual(
      expect.objectContaining({ name: 'If-Match', required: true }),
    );
  });
});

describe('GET /v1/quotas', () => {
  it('tells what a customer has used, of which limit, and when it begins anew, also of one that is not used', async () => {
    const { url } = await serving();
    const unused = (await json(`${url}/v1/quotas/bob`, 'GET')).json.quotas[0];
    expect(unused).toMatchObject({ rule: 'monthly', used: 0, remaining: 10 });
    expect(new Date(unused.resetsAt as string).getTime()).toBeGreaterThan(Date.now());
    await json(`${url}/v1/check`, 'POST', { rule: 'monthly', key: 'alice', cost: 4 });
    const { json: answer } = await json(`${url}/v1/quotas/alice`, 'GET');
    expect(answer).toMatchObject({ key: 'alice', quotas: [{ rule: 'monthly', used: 4, limit: 10, remaining: 6 }] });
    const end = new Date(answer.quotas[0].resetsAt as string);
    expect([end.getUTCDate(), end.getUTCHours(), end.getUTCMinutes(), end.getUTCSeconds()]).toEqual([1, 0, 0, 0]);
  });
});

describe('PUT /v1/quotas', () => {
  it.each([
    ['raised', 4, 9],
    ['lowered', 9, 3],
    ['emptied', 9, 0],
    ['used up', 4, 10],
    ['lowered from used up', 10, 2],
    ['left as it is', 5, 5],
  ])('is %s: from %i to %i of 10', async (_, before, used) => {
    const { url } = await serving();
    await json(`${url}/v1/check`, 'POST', { rule: 'monthly', key: 'alice', cost: before });
    const answer = await json(`${url}/v1/quotas/alice`, 'PUT', { rule: 'monthly', used });
    expect(answer).toMatchObject({ status: 200, json: { rule: 'monthly', used, remaining: 10 - used } });
    expect((await json(`${url}/v1/quotas/alice`, 'GET')).json.quotas).toMatchObject([{ used }]);
  });

  it('is refused of a rule that is none, and without a token once there is one', async () => {
    const { url } = await serving();
    expect((await json(`${url}/v1/quotas/alice`, 'PUT', { rule: 'search', used: 1 })).status).toBe(404);
    await json(`${url}/admin/v1/tokens`, 'POST', { name: 'ann', role: 'edit' });
    expect((await json(`${url}/v1/quotas/alice`, 'PUT', { rule: 'monthly', used: 1 })).status).toBe(401);
  });
});
