import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { startRedis } from '../../../../test/support/redis.js';
import { openDatabase } from '../../src/database/open.js';
import { readDatabaseUrl } from '../../src/database/address.js';
import { judgeOf, operationsOf, type OpenApi } from '../support/described.js';
import { ask, later, start, temporary } from '../support/service.js';
import { fuzzClient } from './client.js';
import { faultOf } from './expected.js';
import { requestTo, type Fuzzed } from './request.js';

/** Requests to all operations together; `npm run fuzz -- --count 200000` sends more. */
const count = Number(process.env['FUZZ_COUNT'] ?? 1200);

const rule = (name: string, limit: object, more: object = {}) => ({ name, limit, ...more });
const minute = { window: '1m' };
const file = {
  version: 1,
  rules: [
    rule(
      'search',
      { tokenBucket: { capacity: 1000, refill: '100/s' } },
      { match: { path: '/search' }, key: ['*'], plans: { pro: { unlimited: {} } } },
    ),
    rule('gateKey', { slidingLog: { limit: 50, ...minute } }, { match: { path: '/*' }, key: ['apiKey'], missingKey: 'skip' }),
    rule('monthly', { quota: { limit: 10_000, period: 'month' } }),
    rule('exports', { concurrency: { limit: 3, expires: '5m' } }),
    rule('login', { consecutiveFailures: {} }),
    rule('free', { unlimited: {} }),
    rule('watch', { slidingWindow: { limit: 1, ...minute } }, { shadow: true }),
  ],
};

const storeToken = 'a-token-for-the-fuzz';

async function serving(redis: readonly string[]) {
  const database = `sqlite:${join(temporary(), 'rules.db')}`;
  const opened = openDatabase(readDatabaseUrl(database));
  await opened.rules.importAll({ base: 0, author: 'fuzz', reason: '', file });
  await opened.close();
  return start({ redis, flags: ['--database', database], secret: 'a secret for the fuzz', env: { HEADGATE_STORE_TOKEN: storeToken } });
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** What could grow: the heap after a collection, handles, and lines of metrics. */
async function measured(
  metrics: () => Promise<string>,
): Promise<{ readonly heap: number; readonly handles: number; readonly lines: number }> {
  const lines = (await metrics()).split('\n').length;
  for (let i = 0; i < 3; i += 1) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { heap: process.memoryUsage().heapUsed, handles: process.getActiveResourcesInfo().length, lines };
}

/** With the store's token, and limits named by places where there is one. */
function knowingStore(made: Fuzzed, pick: number): Fuzzed {
  if (pick % 7 === 0) return made;
  const headers = [...made.headers.filter(([name]) => name !== 'authorization'), ['authorization', `Bearer ${storeToken}`] as const];
  const text = made.body?.toString().replaceAll(/("key":"(?:[^"\\]|\\.)*","limit":)\d+/g, `$1${pick % 2}`);
  return { ...made, headers, ...(text !== undefined && { body: Buffer.from(text) }) };
}

describe.each([
  ['this process', false],
  ['Redis', true],
])('every endpoint, over a database and with counters in %s', (_, withRedis) => {
  it('answers whatever it is sent soon, as documented, and nothing grows', { timeout: 60_000 + count * 100 }, async () => {
    const redis = withRedis ? await startRedis() : undefined;
    if (redis) later(redis.kill);
    const { url, get } = await serving(redis === undefined ? [] : [redis.url]);
    const document = (await get('/admin/v1/openapi.json')).json as OpenApi;
    const asked = (method: string, path: string, body: object, headers: Record<string, string> = {}) =>
      ask(url + path, { method, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) });
    const { token } = (await asked('POST', '/admin/v1/tokens', { name: 'fuzz', role: 'edit' })).json as { token: string };
    const authorization = `Bearer ${token}`;
    const operations = operationsOf(document);
    const judges = { judge: judgeOf(document), problem: document.components.schemas['Problem'] ?? {} };
    const send = fuzzClient(url);
    const ids: string[] = [];
    let sent = 0;
    const seen = new Map<number, number>();

    let etag = '"1"';

    /** As it was made, but that some know what none can guess: the token, the version of the rules, an id that holds, the place of a limit. */
    function knowing(made: Fuzzed, pick: number): Fuzzed {
      if (made.operation.path === '/v1/store') return knowingStore(made, pick);
      const id = ids[pick % Math.max(1, ids.length)];
      const headers = made.headers.map(([name, value]) => [name, name === 'if-match' && pick % 5 > 0 ? etag : value] as const);
      const known = [...headers.filter(([name]) => name !== 'authorization'), ['authorization', authorization] as const];
      const text = id !== undefined && pick % 3 === 0 ? made.body?.toString().replace(/"id":"[^"]*"/, `"id":"${id}"`) : undefined;
      return { ...made, headers: pick % 7 === 0 ? headers : known, ...(text !== undefined && { body: Buffer.from(text) }) };
    }

    async function fuzz(runs: number, seed: number): Promise<void> {
      // What was made of the rules meanwhile may have none that a check could find.
      const { headers } = await asked('POST', '/admin/v1/rollback', { to: 1 }, { authorization, 'if-match': etag });
      etag = headers['etag'] ?? etag;
      for (const operation of operations) {
        const property = fc.asyncProperty(requestTo(operation, document), fc.nat(), async (made, pick) => {
          const request = knowing(made, pick);
          const received = await send(request);
          sent += 1;
          etag = received.headers.get('etag') ?? etag;
          seen.set(received.status, (seen.get(received.status) ?? 0) + 1);
          const [, fresh] = /"id":"([\w-]{60,})"/.exec(received.body) ?? [];
          if (fresh !== undefined) ids[ids.length < 50 ? ids.length : pick % 50] = fresh;
          const fault = faultOf(request, received, judges);
          if (fault !== undefined) throw new Error(`${fault}: ${received.status} ${received.body.slice(0, 500)}`);
        });
        await fc.assert(property, {
          numRuns: Math.ceil(runs / operations.length),
          seed,
        });
      }
    }

    const metrics = async (): Promise<string> => (await get('/metrics')).text;
    const { seed = 0 } = fc.readConfigureGlobal();
    await fuzz(count / 3, seed);
    const before = await measured(metrics);
    await fuzz((2 * count) / 3, seed + 1);
    const after = await measured(metrics);
    if (process.env['FUZZ_COUNT'] !== undefined)
      console.log(
        sent,
        [...seen].sort(([a], [b]) => a - b),
        before,
        after,
      );
    expect(sent).toBeGreaterThanOrEqual(count);
    expect(seen.get(200)).toBeGreaterThan(sent / 20);
    expect(after.handles).toBeLessThanOrEqual(before.handles + 5);
    expect(after.heap - before.heap).toBeLessThan(32 * 1024 * 1024);
    expect(after.lines).toBeLessThan(before.lines + 500);
  });
});
