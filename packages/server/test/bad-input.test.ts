import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { start, type Answer } from './support/service.js';

function expectProblem(answer: Answer, status: number, ...pointers: string[]): void {
  expect([answer.status, answer.headers['content-type'], answer.json.status]).toEqual([status, 'application/problem+json', status]);
  expect(answer.json.title).toEqual(expect.any(String));
  expect(answer.headers['cache-control']).toBe('no-store');
  if (pointers.length > 0) expect(answer.json.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(pointers);
  expect(answer.text).not.toMatch(/node_modules|at .*\.js|\.ts:/);
}

const json = { 'content-type': 'application/json' };

describe('a body that is not what the endpoint takes', () => {
  it('is refused with a pointer to each fault', async () => {
    const { post } = await start();
    const ok = { rule: 'search', key: 'k' };
    expectProblem(await post('/v1/check', {}), 400, '/rule', '/key');
    for (const cost of [0, -1, 0.5, '3', 1e19, null, true]) expectProblem(await post('/v1/check', { ...ok, cost }), 400, '/cost');
    expectProblem(await post('/v1/check', '{"rule":"search","key":"k","cost":1e999}'), 400, '/cost');
    for (const key of ['', 1, null, {}, ['k'], 'x'.repeat(4097)]) expectProblem(await post('/v1/check', { ...ok, key }), 400, '/key');
    expectProblem(await post('/v1/check', '{"rule":"search","key":"\\ud800"}'), 400, '/key');
    expectProblem(await post('/v1/check', { ...ok, plan: 1 }), 400, '/plan');
    expectProblem(await post('/v1/check', { ...ok, costs: 1, 'a/b~c': 1 }), 400, '/costs', '/a~1b~0c');
    expectProblem(await post('/v1/check', '{"rule":"search","key":"k","__proto__":{"cost":9}}'), 400, '/__proto__');
    expectProblem(
      await post('/v1/check', { checks: [ok, { rule: 'search' }, { ...ok, cost: 0 }] }),
      400,
      '/checks/1/key',
      '/checks/2/cost',
    );
    expectProblem(await post('/v1/check', { checks: [] }), 400, '/checks');
    expectProblem(await post('/v1/check', { checks: Array.from({ length: 33 }, () => ok) }), 400, '/checks');
    expectProblem(await post('/v1/check', { checks: [ok], ...ok }), 400, '/rule', '/key');
    expectProblem(await post('/v1/settle', { id: 'x' }), 400, '/actual');
    expectProblem(await post('/v1/settle', { id: 'x', actual: -1 }), 400, '/actual');
    expectProblem(await post('/v1/refund', { id: 7 }), 400, '/id');
    expectProblem(await post('/v1/outcome', {}), 400, '/id', '/outcome');
    for (const outcome of ['ok', true, null, '']) expectProblem(await post('/v1/outcome', { id: 'x', outcome }), 400, '/outcome');
    expectProblem(await post('/v1/outcome', { id: 'x', outcome: 'success', rule: 'search' }), 400, '/rule');
    for (const body of ['null', '1', '[]', '"x"', `${'['.repeat(20_000)}${']'.repeat(20_000)}`])
      expectProblem(await post('/v1/check', body), 400, '');
  });

  it('takes nothing', async () => {
    const { post } = await start();
    await post('/v1/check', {
      checks: [
        { rule: 'search', key: 'k' },
        { rule: 'nope', key: 'k' },
      ],
    });
    expect((await post('/v1/peek', { rule: 'search', key: 'k' })).json.decision.remaining).toBe(20);
  });

  it('is refused as no JSON, with a pointer to the whole', async () => {
    const { post, get } = await start();
    for (const body of ['{', '{"rule":', 'rule=search', '\u0000']) expectProblem(await post('/v1/check', body), 400, '');
    expectProblem(await get('/v1/check', { method: 'POST', headers: json }), 400, '');
    expectProblem(await get('/v1/check', { method: 'POST' }), 400, '/rule', '/key');
  });

  it('is refused above 64 KiB, told or not, and in another type', async () => {
    const { post, get } = await start();
    const large = JSON.stringify({ rule: 'search', key: 'k'.repeat(65_536) });
    expectProblem(await post('/v1/check', large), 413);
    expectProblem(await get('/v1/check', { method: 'POST', headers: { ...json, 'transfer-encoding': 'chunked' }, body: large }), 413);
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'nonsense']) {
      expectProblem(
        await get('/v1/check', { method: 'POST', headers: { 'content-type': type }, body: '{"rule":"search","key":"k"}' }),
        415,
      );
    }
    expect(
      (
        await get('/v1/check', {
          method: 'POST',
          headers: { 'content-type': 'application/json; charset=utf-8' },
          body: '{"rule":"search","key":"k"}',
        })
      ).status,
    ).toBe(200);
  });

  it('is refused where a verb cannot work on what it names', async () => {
    const { post } = await start({
      rules:
        'version: 1\nrules:\n  - { name: c, limit: { concurrency: { limit: 1, expires: 1m } } }\n  - { name: w, limit: { fixedWindow: { limit: 9, window: 1h } } }\n',
    });
    expectProblem(await post('/v1/reserve', { rule: 'c', key: 'k' }), 400, '/rule');
    const held = (await post('/v1/check', { rule: 'c', key: 'k' })).json.decision.id;
    expectProblem(await post('/v1/settle', { id: held, actual: 0 }), 400, '/id');
    const taken = (await post('/v1/check', { rule: 'w', key: 'k' })).json.decision.id;
    expectProblem(await post('/v1/extend', { id: taken }), 400, '/id');
  });
});

describe('what is not there', () => {
  it('is a 404 with a pointer for an unknown rule', async () => {
    const { post } = await start();
    for (const rule of ['nope', '__proto__', 'Search']) expectProblem(await post('/v1/check', { rule, key: 'k' }), 404, '/rule');
    expectProblem(await post('/v1/peek', { rule: 'nope', key: 'k' }), 404, '/rule');
    expectProblem(await post('/v1/reserve', { rule: 'nope', key: 'k' }), 404, '/rule');
    expectProblem(
      await post('/v1/check', {
        checks: [
          { rule: 'search', key: 'k' },
          { rule: 'nope', key: 'k' },
        ],
      }),
      404,
      '/checks/1/rule',
    );
  });

  it('is a 404 for an unknown path, and a 405 for a method that a path does not have', async () => {
    const { get } = await start();
    for (const path of ['/', '/v1', '/v1/checks', '/v2/check', '/v1/check/']) expectProblem(await get(path), 404);
    const answer = await get('/v1/check');
    expectProblem(answer, 405);
    expect(answer.headers['allow']).toBe('POST');
    expectProblem(await get('/healthz', { method: 'POST' }), 405);
  });

  it('is a 400 for a path that cannot be decoded', async () => {
    const { get } = await start();
    for (const path of ['/%zz', '/v1/gate/%zz']) expectProblem(await get(path), 400);
  });
});

describe('what is no HTTP', () => {
  async function raw(url: string, text: string): Promise<string> {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.end(text);
    let answer = '';
    for await (const chunk of socket) answer += String(chunk);
    return answer;
  }

  it('is answered by a problem as well', async () => {
    const { url } = await start();
    expect(await raw(url, 'nonsense\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 400 Bad Request\r\ncontent-type: application\/problem\+json\r\n.*\{"type":"about:blank"/s,
    );
    expect(await raw(url, `GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 .*application\/problem\+json/s,
    );
  });
});
