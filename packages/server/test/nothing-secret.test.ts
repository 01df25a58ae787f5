import { describe, expect, it } from 'vitest';
import { startRedis } from '../../../test/support/redis.js';
import { collector } from './support/collector.js';
import { headgate, urlOf } from './support/command.js';
import { ask, later, rulesFile } from './support/service.js';

const soon = { timeout: 15_000, interval: 50 };
const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
const json = { 'content-type': 'application/json' };

/** Whatever holds one of these has let something out. */
const planted = {
  key: 'planted-key',
  apiKey: 'planted-api-key',
  token: 'planted-token',
  cookie: 'planted-cookie',
  query: 'planted-query',
  path: 'planted-path',
  host: 'planted-host.example',
  requestId: 'planted id "with" spaces',
  traceState: 'planted-trace-state',
  account: 'planted@example.com',
  rule: 'planted-rule',
  redisPassword: 'planted-redis-password',
  collectorToken: 'planted-collector-token',
  secret: 'planted secret of decision ids',
  webhookSecret: 'planted-webhook-secret',
  webhookPath: 'planted-webhook-path',
  client: '203.0.113.77',
} as const;

const rules = `
version: 1
identify: { trustProxies: [127.0.0.1/32] }
rules:
  - { name: api, match: { path: /api/* }, key: [apiKey], limit: { fixedWindow: { limit: 3, window: 1h } } }
  - { name: ip, match: { path: /* }, key: [ip], limit: { tokenBucket: { capacity: 100, refill: 1/s } } }
  - { name: monthly, key: [apiKey], match: { path: /paid }, limit: { quota: { limit: 4, period: month } } }
  - { name: hot, mode: lease, limit: { fixedWindow: { limit: 1000, window: 1d } } }
`;

/** Asks for everything there is, well and badly, with something to hide in each part of a request. */
async function busy(url: string): Promise<void> {
  const headers = {
    'x-api-key': planted.apiKey,
    authorization: `Bearer ${planted.token}`,
    cookie: `session=${planted.cookie}`,
    'x-forwarded-for': planted.client,
    'x-original-host': planted.host,
    'x-request-id': planted.requestId,
    traceparent,
    tracestate: `vendor=${planted.traceState}`,
  };
  const post = (path: string, body: unknown) =>
    ask(url + path, { method: 'POST', headers: { ...headers, ...json }, body: typeof body === 'string' ? body : JSON.stringify(body) });
  for (let i = 0; i < 6; i += 1) {
    await ask(`${url}/v1/gate/api/${planted.path}?token=${planted.query}`, { headers });
    await ask(`${url}/v1/gate/paid?token=${planted.query}`, { headers });
    for (const rule of ['api', 'hot', planted.rule]) await post('/v1/check', { rule, key: planted.key });
  }
  const taken = await post('/v1/reserve', { rule: 'hot', key: planted.key, cost: 2 });
  await post('/v1/settle', { id: taken.json?.decision?.id ?? planted.token, actual: 1 });
  for (const body of ['{"planted-key', { rule: 'api', key: planted.key, cost: planted.token }, { rule: 'api', key: { a: planted.key } }])
    await post('/v1/check', body);
  await post('/v1/devices/verify', { account: planted.account, device: planted.token });
  await ask(`${url}/v1/quotas/${planted.key}`, { headers });
  await ask(`${url}/admin/v1/keys/${planted.key}?token=${planted.query}`, { headers });
  await ask(`${url}/${planted.path}?token=${planted.query}`, { headers });
  await ask(`${url}/%zz${planted.path}`, { headers });
  await ask(`${url}/readyz?token=${planted.query}`, { headers });
}

describe('nothing secret', () => {
  it('is in the log at its most talkative, in metrics or in spans, while all is well and while it is not', async () => {
    const redis = await startRedis();
    later(redis.kill);
    await redis.command('ACL', 'SETUSER', 'planted-user', 'on', `>${planted.redisPassword}`, '~*', '&*', '+@all');
    const { url: otlp, is, spans, got } = await collector();
    is('refuses');
    const flags = ['--http-port', '0', '--rules', rulesFile(rules), '--otlp', otlp, '--otlp-interval', '1s', '--deadline', '2s'];
    const run = headgate(['serve', ...flags, '--webhook', `http://127.0.0.1:1/${planted.webhookPath}`], {
      HEADGATE_LOG_LEVEL: 'trace',
      HEADGATE_REDIS: `redis://planted-user:${planted.redisPassword}@${redis.host}:${redis.port}`,
      HEADGATE_SECRET: planted.secret,
      HEADGATE_WEBHOOK_SECRET: planted.webhookSecret,
      HEADGATE_OTLP_HEADERS: `authorization=Bearer%20${planted.collectorToken}`,
    });
    const url = await urlOf(run);
    await expect.poll(async () => (await ask(`${url}/readyz`)).status, soon).toBe(200);
    await busy(url);
    await expect.poll(() => run.log().filter(({ event }) => event === 'otlp').length, soon).toBeGreaterThan(1);
    is('takes');
    await redis.command('CONFIG', 'SET', 'maxmemory', '1');
    await busy(url);
    await redis.kill();
    await busy(url);
    await expect.poll(() => spans().length, soon).toBeGreaterThan(20);
    const { text: metrics } = await ask(`${url}/metrics`);
    run.child.kill('SIGTERM');
    expect(await run.code).toBe(0);

    const log = run.log();
    const told = { log: run.err(), out: run.out(), metrics, otlp: JSON.stringify(got.map(({ body }) => body)) };
    for (const [where, text] of Object.entries(told)) {
      for (const [what, secret] of Object.entries(planted))
        expect({ where, what, isTold: text.includes(secret) }).toEqual({ where, what, isTold: false });
      expect(text).not.toMatch(/planted/i);
    }
    // A collector that refuses, and then takes, is a line each for metrics and traces, however often it is asked.
    const collectorLines = log.filter(({ event }) => event === 'otlp').map(({ signal, msg }) => `${signal as string}: ${msg as string}`);
    expect(new Set(collectorLines).size).toBe(collectorLines.length);
    // Each request is a line, with its id and its caller's trace.
    const requests = log.filter(({ event }) => event === 'request');
    expect(requests.length).toBeGreaterThan(60);
    expect(requests).toContainEqual(
      expect.objectContaining({
        route: '/v1/gate/*',
        method: 'GET',
        status: 429,
        rules: ['api', 'ip'],
        outcome: 'refused',
        requestId: traceId,
        traceId,
      }),
    );
    expect(requests).toContainEqual(expect.objectContaining({ route: '/v1/check', status: 404 }));
    expect(requests).toContainEqual(expect.objectContaining({ route: '/v1/check', sources: ['fallback'], degraded: true }));
  });
});

describe('the id of a request', () => {
  const service = async () => {
    const run = headgate(['serve', '--http-port', '0', '--rules', rulesFile(rules)], { HEADGATE_LOG_LEVEL: 'debug' });
    return { run, url: await urlOf(run) };
  };
  const uuid = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

  it("is its caller's, else that of its trace, else a random one, and is answered and logged", async () => {
    const { run, url } = await service();
    const idOf = async (headers: Record<string, string>) => (await ask(`${url}/v1/gate/api/a`, { headers })).headers['x-request-id'];
    expect(await idOf({ 'x-request-id': 'Caller-7.a:b', traceparent })).toBe('Caller-7.a:b');
    expect(await idOf({ traceparent })).toBe(traceId);
    const random = await idOf({});
    expect(random).toMatch(uuid);
    await expect
      .poll(
        () =>
          run
            .log()
            .filter(({ event }) => event === 'request')
            .map(({ requestId }) => requestId),
        soon,
      )
      .toEqual(['Caller-7.a:b', traceId, random]);
    expect(run.log().find(({ requestId }) => requestId === 'Caller-7.a:b')).toMatchObject({ traceId });
  });

  it.each([
    ['too long', 'a'.repeat(65)],
    ['of other characters', 'a b'],
    ['one that would end a log line', 'a"b'],
    ['empty', ''],
  ])("is not its caller's if that is %s", async (_, given) => {
    const { url } = await service();
    expect((await ask(`${url}/healthz`, { headers: { 'x-request-id': given } })).headers['x-request-id']).toMatch(uuid);
    const several = await ask(`${url}/healthz`, { headers: { 'x-request-id': ['a', 'b'] } });
    expect(several.headers['x-request-id']).toMatch(uuid);
  });

  it('is in a problem that only the server can mend, and in no other', async () => {
    const run = headgate(['serve', '--http-port', '0', '--rules', rulesFile(rules), '--redis', 'redis://127.0.0.1:1']);
    const url = await urlOf(run);
    const headers = { 'x-request-id': 'seven' };
    expect((await ask(`${url}/readyz`, { headers })).json).toMatchObject({ status: 503, requestId: 'seven' });
    expect((await ask(`${url}/nowhere`, { headers })).json.requestId).toBeUndefined();
  });
});
