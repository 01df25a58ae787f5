import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance } from 'fastify';
import { quotaExceeded, temporaryReducedCapacity } from 'headgate/http';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../src/database/open.js';
import { readDatabaseUrl } from '../src/database/address.js';
import { bodySchemaOf, judgeOf, operationsOf, type OpenApi } from './support/described.js';
import { exampleTarget, httpApiPage } from './support/http-api-page.js';
import { ask, later, start, temporary, type Answer, type Started } from './support/service.js';

const rule = (name: string, limit: object) => ({ name, key: ['apiKey'], limit });
const file = {
  version: 1,
  rules: [
    { ...rule('search', { tokenBucket: { capacity: 20, refill: '2/s' } }), match: { path: '/search' } },
    rule('tokens', { tokenBucket: { capacity: 90_000, refill: '90000/m' } }),
    rule('monthly', { quota: { limit: 10_000, period: 'month' } }),
    rule('exports', { concurrency: { limit: 3, expires: '5m' } }),
    rule('login', { consecutiveFailures: {} }),
    rule('free', { unlimited: {} }),
  ],
};

const storeToken = 'a-token-of-the-tests';

type Serving = Started & { readonly document: OpenApi };

interface Sending {
  readonly body?: unknown;
  readonly path?: string;
  readonly headers?: Record<string, string>;
}

/** A server over a database of its own, so that it has all endpoints there are. */
async function serving(): Promise<Serving> {
  const database = `sqlite:${join(temporary(), 'rules.db')}`;
  const opened = openDatabase(readDatabaseUrl(database));
  await opened.rules.importAll({ base: 0, author: 'test', reason: 'first', file });
  await opened.close();
  const service = await start({ flags: ['--database', database], env: { HEADGATE_STORE_TOKEN: storeToken } });
  return { ...service, document: (await service.get('/admin/v1/openapi.json')).json as OpenApi };
}

/** Routes as Fastify has them: it tells of every server that is made, before its first route. */
function watchRoutes(): Set<string> {
  const seen = new Set<string>();
  const onServer = (message: unknown): void => {
    const { fastify: server } = message as { fastify: FastifyInstance };
    server.addHook('onRoute', ({ method, url }) => {
      for (const one of [method].flat()) seen.add(`${one} ${url}`);
    });
  };
  subscribe('fastify.initialization', onServer);
  later(() => unsubscribe('fastify.initialization', onServer));
  return seen;
}

/** Each operation asked so that it succeeds, in an order in which that is possible. */
async function askAll({ url, document }: Serving): Promise<Map<string, Answer>> {
  const answers = new Map<string, Answer>();
  const operations = operationsOf(document);
  const send = async (id: string, { body, path, headers }: Sending = {}): Promise<Answer> => {
    const operation = operations.find(({ operationId }) => operationId === id);
    if (operation === undefined) throw new Error(`there is no operation ${id}`);
    const sent = body ?? operation.requestBody?.content['application/json']?.example;
    const answer = await ask(url + (path ?? exampleTarget(operation)), {
      method: operation.method,
      headers: { 'x-api-key': 'caller', ...(sent !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(sent !== undefined && { body: JSON.stringify(sent) }),
    });
    answers.set(id, answer);
    return answer;
  };
  const taken = async (rule: string): Promise<string> =>
    (await send('postV1Check', { body: { rule, key: 'k' } })).json.decision.id as string;
  await send('postV1Store', { headers: { authorization: `Bearer ${storeToken}` } });
  await send('postV1Settle', { body: { id: (await send('postV1Reserve')).json.decision.id, actual: 1 } });
  await send('postV1Cancel', { body: { id: (await send('postV1Reserve')).json.decision.id } });
  await send('postV1Refund', { body: { id: await taken('search') } });
  await send('postV1Outcome', { body: { id: await taken('login'), outcome: 'success' } });
  const held = await taken('exports');
  for (const verb of ['Extend', 'Release']) await send(`postV1${verb}`, { body: { id: held } });
  await send('postV1Check', { body: { checks: ['search', 'free', 'tokens'].map((rule) => ({ rule, key: 'k' })) } });
  let version = 1;
  const edit = async (id: string, sending: Sending = {}): Promise<void> => {
    const { json } = await send(id, { ...sending, headers: { 'if-match': `"${version}"` } });
    version = json.version as number;
  };
  const limit = { unlimited: {} };
  await edit('putAdminV1RulesName', { path: '/admin/v1/rules/old', body: { rule: { limit } } });
  await edit('postAdminV1Changes', { body: { put: { tokens: { limit } }, remove: ['old'] } });
  await edit('postAdminV1Rollback', { body: { to: 1 } });
  await edit('deleteAdminV1RulesName', { path: '/admin/v1/rules/free' });
  for (const [id, ...path] of [
    ['putAdminV1CustomersKeyPlan'],
    ['putAdminV1OverridesRuleKey'],
    ['putAdminV1Exemptions'],
    ['putAdminV1ShadowsName', '/admin/v1/shadows/login'],
  ] as const)
    await send(id, path[0] === undefined ? {} : { path: path[0] });
  for (const { operationId, method } of operations) if (method === 'GET' && !answers.has(operationId)) await send(operationId);
  for (const { operationId, method } of operations) if (method === 'PUT' && !answers.has(operationId)) await send(operationId);
  await send('deleteAdminV1ShadowsName', { path: '/admin/v1/shadows/login' });
  for (const { operationId, method, path } of operations)
    if (method !== 'GET' && !answers.has(operationId) && !path.includes('tokens')) await send(operationId);
  const { json: made } = await send('postAdminV1Tokens', { body: { name: 'ann', role: 'edit' } });
  await send('deleteAdminV1TokensName', { path: '/admin/v1/tokens/ann', headers: { authorization: `Bearer ${made.token as string}` } });
  return answers;
}

describe('the OpenAPI document', () => {
  it('is the published one, and so is docs/http-api.md; `npx vitest run packages/server/test/openapi.test.ts -u` renews both', async () => {
    const { document } = await serving();
    await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot('../schema/openapi.json');
    await expect(httpApiPage(document)).toMatchFileSnapshot('../../../docs/http-api.md');
  });

  it('has exactly the endpoints that are served', async () => {
    const routes = watchRoutes();
    const { document } = await serving();
    const told = operationsOf(document).map(
      ({ method, path }) => `${method} ${path.replace('/v1/gate/{path}', '/v1/gate/*').replaceAll(/\{(\w+)\}/g, ':$1')}`,
    );
    // What has GET has HEAD; for the gate's further methods OpenAPI has no place.
    const places = [...routes].filter(
      (route) => !/^HEAD (?!\/v1\/gate)/.test(route) && /^(GET|PUT|POST|DELETE|OPTIONS|HEAD|PATCH|TRACE) /.test(route),
    );
    expect(told.sort()).toEqual(places.sort());
    expect(routes).toContain('PROPFIND /v1/gate/*');
    expect(new Set(operationsOf(document).map(({ operationId }) => operationId)).size).toBe(told.length);
  });

  it('tells what each endpoint answers: every real answer is what its schema says', async () => {
    const service = await serving();
    const judge = judgeOf(service.document);
    const answers = await askAll(service);
    for (const operation of operationsOf(service.document)) {
      const { operationId, responses } = operation;
      const answer = answers.get(operationId);
      const [success = '', told] = Object.entries(responses)[0] ?? [];
      expect([operationId, answer?.status, answer?.text]).toEqual([operationId, Number(success), answer?.text]);
      const schema = told?.content?.['application/json']?.schema;
      if (schema === undefined) expect(answer?.json, operationId).toBeUndefined();
      else expect(judge(schema, answer?.json), operationId).toBeUndefined();
    }
  });

  it('has examples that are what their schemas say', async () => {
    const { document } = await serving();
    const judge = judgeOf(document);
    for (const operation of operationsOf(document)) {
      for (const { schema, name } of operation.parameters)
        for (const example of schema.examples ?? []) expect(judge(schema, example), `${operation.operationId} ${name}`).toBeUndefined();
      const schema = bodySchemaOf(operation);
      if (schema) expect(judge(schema, operation.requestBody?.content['application/json']?.example), operation.operationId).toBeUndefined();
    }
  });

  it('is told by every server, of the endpoints that it has', async () => {
    const { get } = await start();
    const { json, status } = await get('/admin/v1/openapi.json');
    expect(status).toBe(200);
    expect(Object.keys(json.paths as object)).toContain('/admin/v1/keys/{key}');
    expect(Object.keys(json.paths as object)).not.toContain('/admin/v1/rules');
  });
});

it('docs/errors.md lists every type of problem there is', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/errors.md'), 'utf8');
  for (const { type } of [quotaExceeded([]), temporaryReducedCapacity([]), { type: 'about:blank' }]) expect(text).toContain(`\`${type}\``);
});

describe('a method that a path does not have', () => {
  it.each([
    ['DELETE', '/v1/check', 'POST'],
    ['POST', '/healthz', 'GET, HEAD'],
    ['POST', '/v1/quotas/k', 'GET, HEAD, PUT'],
    ['PATCH', '/admin/v1/keys/k', 'GET, HEAD'],
    ['PROPFIND', '/admin/v1/keys/k/ban', 'POST'],
  ])('%s %s is a 405 that tells those there are', async (method, path, allow) => {
    const { get } = await start();
    const { status, headers } = await get(path, { method });
    expect([status, headers['allow'], headers['content-type']]).toEqual([405, allow, 'application/problem+json']);
  });
});

describe('a number in a query', () => {
  it.each(['', '%20', '-1', '1.5', '1e2', '0x10', '+1', '%E0%A5%A7', '1&VERSION=2', 'null', '99999999999999999'])(
    'that is written as %j is refused with a pointer, and is not zero',
    async (text) => {
      const { get } = await serving();
      for (const [path, name] of [
        ['rules?', 'version'],
        ['versions?', 'limit'],
        ['versions?', 'before'],
        ['diff?to=1&', 'from'],
        ['customers?', 'limit'],
        ['audit?', 'before'],
      ] as const) {
        const { status, json } = await get(`/admin/v1/${path}${name}=${text.replace('VERSION', name)}`);
        expect([status, json.errors]).toEqual([400, [{ pointer: `/${name}`, detail: expect.stringContaining('whole number') as string }]]);
      }
    },
  );

  it('that is left out is as documented', async () => {
    const { get } = await serving();
    expect((await get('/admin/v1/rules')).json.version).toBe(1);
    expect((await get('/admin/v1/rules?version=0')).json.version).toBe(0);
  });
});
