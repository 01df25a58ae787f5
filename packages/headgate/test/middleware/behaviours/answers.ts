import assert from 'node:assert/strict';
import { fixedWindow, slidingLog, tokenBucket } from 'headgate';
import { parseList } from 'structured-headers';
import { send } from '../client.js';
import type { Behaviour, Facts } from '../site.js';
import { behaviour, ok, rule } from './shared.js';

/** A structured list as a client reads it. */
export const read = (field: unknown): Record<string, unknown>[] =>
  parseList(String(field)).map(([name, parameters]) => ({ name, ...Object.fromEntries(parameters as Map<string, unknown>) }));

/** What requests are answered. */
export const answerBehaviours: readonly Behaviour[] = [
  behaviour('a request that passes is told its limit', async ({ limiterOf, serve }) => {
    const port = await serve({ limits: [{ limiter: limiterOf({ search: rule(3) }), rule: 'search' }], handler: ok });
    const { status, body, headers } = await send(port);
    assert.deepEqual([status, body], [200, 'ok']);
    assert.deepEqual(read(headers['ratelimit-policy']), [{ name: 'search', q: 3, w: 3600 }]);
    const [state] = read(headers['ratelimit']);
    assert.deepEqual([state?.['name'], state?.['r']], ['search', 2]);
    assert.ok(Number(state?.['t']) > 3500 && Number(state?.['t']) <= 3600);
    assert.equal(headers['retry-after'], undefined);
  }),
  behaviour('a refused request is answered 429 with its wait, its limit and a problem, and is not stored', async ({ limiterOf, serve }) => {
    let handled = 0;
    const handler = () => {
      handled += 1;
      return ok();
    };
    const port = await serve({ limits: [{ limiter: limiterOf({ search: rule(1) }), rule: 'search' }], handler });
    await send(port);
    const { status, body, headers } = await send(port);
    assert.equal(status, 429);
    assert.equal(handled, 1);
    assert.match(headers['content-type'] ?? '', /^application\/problem\+json/);
    assert.equal(headers['cache-control'], 'no-store');
    const wait = Number(headers['retry-after']);
    assert.deepEqual(read(headers['ratelimit']), [{ name: 'search', r: 0, t: wait }]);
    assert.deepEqual(read(headers['ratelimit-policy']), [{ name: 'search', q: 1, w: 3600 }]);
    const { detail, ...problem } = JSON.parse(body) as Record<string, unknown>;
    assert.deepEqual(problem, {
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota exceeded',
      status: 429,
      'violated-policies': ['search'],
    });
    assert.match(String(detail), new RegExp(`${wait} s`));
  }),
  behaviour('two violated rules with waits of 1 s and 60 s: Retry-After is 60, and both are told', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({
      short: { limit: tokenBucket({ capacity: 1, refill: '1/s' }) },
      long: { limit: fixedWindow({ limit: 1, window: '60s', from: 'first-request' }) },
    });
    const port = await serve({ limits: [{ limiter, checks: [{ rule: 'short' }, { rule: 'long' }] }], handler: ok });
    await send(port);
    const { status, headers, body, lines } = await send(port);
    assert.equal(status, 429);
    assert.equal(headers['retry-after'], '60');
    assert.deepEqual(read(headers['ratelimit']), [
      { name: 'short', r: 0, t: 1 },
      { name: 'long', r: 0, t: 60 },
    ]);
    assert.equal(lines('ratelimit'), 1);
    assert.deepEqual((JSON.parse(body) as Record<string, unknown>)['violated-policies'], ['short', 'long']);
  }),
  behaviour('a group that is refused takes nothing, and its problem names only what refuses', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ wide: rule(10), narrow: rule(1) });
    const port = await serve({ limits: [{ limiter, checks: () => [{ rule: 'wide' }, { rule: 'narrow' }] }], handler: ok });
    await send(port);
    const { status, body, headers } = await send(port);
    assert.equal(status, 429);
    assert.deepEqual((JSON.parse(body) as Record<string, unknown>)['violated-policies'], ['narrow']);
    assert.equal(read(headers['ratelimit']).find(({ name }) => name === 'wide')?.['r'], 9);
  }),
  behaviour('several limits on the way of one request fill one field', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ outer: rule(10), inner: rule(1) });
    const limits = [
      { limiter, rule: 'outer' },
      { limiter, rule: 'inner' },
    ];
    const port = await serve({ limits, handler: ok });
    for (const status of [200, 429]) {
      const answer = await send(port);
      assert.equal(answer.status, status);
      assert.deepEqual([answer.lines('ratelimit'), answer.lines('ratelimit-policy')], [1, 1]);
      assert.deepEqual(
        read(answer.headers['ratelimit']).map(({ name }) => name),
        ['outer', 'inner'],
      );
    }
  }),
  behaviour('HEAD counts, and is refused without a body', async ({ limiterOf, serve }) => {
    const port = await serve({ limits: [{ limiter: limiterOf({ search: rule(1) }), rule: 'search' }], handler: ok });
    assert.equal((await send(port, { method: 'HEAD' })).status, 200);
    const { status, body, headers } = await send(port, { method: 'HEAD' });
    assert.deepEqual([status, body], [429, '']);
    assert.ok(Number(headers['retry-after']) > 0);
  }),
  behaviour('the store is gone: a rule that refuses then answers 503 and invents no numbers', async ({ limiterWithoutStore, serve }) => {
    const limiter = limiterWithoutStore({ search: rule(5, { whenUnavailable: 'refuse' }) });
    const port = await serve({ limits: [{ limiter, rule: 'search', headers: ['draft-11', 'x-ratelimit'] }], handler: ok });
    const { status, body, headers } = await send(port);
    assert.equal(status, 503);
    assert.match(String((JSON.parse(body) as Record<string, unknown>)['type']), /#temporary-reduced-capacity$/);
    assert.equal(headers['cache-control'], 'no-store');
    for (const name of ['ratelimit', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'])
      assert.equal(headers[name], undefined);
  }),
  behaviour('the store is gone: what passes by this process alone tells the limit and no state', async ({ limiterWithoutStore, serve }) => {
    for (const whenUnavailable of ['local', 'allow'] as const) {
      const limiter = limiterWithoutStore({ search: rule(5, { whenUnavailable }) });
      const port = await serve({ limits: [{ limiter, rule: 'search' }], handler: ok });
      const { status, headers } = await send(port);
      assert.deepEqual([status, headers['ratelimit']], [200, undefined]);
      assert.match(String(headers['ratelimit-policy']), /^"search";q=5/);
    }
  }),
  behaviour('older formats are there for who asks for them', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ a: rule(5), b: rule(5), c: rule(5), d: rule(1) });
    const ask = async (name: string, headers: 'draft-6' | 'draft-7' | 'draft-8' | ['x-ratelimit-epoch']) =>
      send(await serve({ limits: [{ limiter, rule: name, headers }], handler: ok }));
    const six = await ask('a', 'draft-6');
    assert.deepEqual([six.headers['ratelimit-limit'], six.headers['ratelimit-remaining']], ['5', '4']);
    assert.deepEqual([six.headers['ratelimit-policy'], six.headers['ratelimit']], ['5;w=3600', undefined]);
    assert.match(String((await ask('b', 'draft-7')).headers['ratelimit']), /^limit=5, remaining=4, reset=3\d{3}$/);
    assert.match(String((await ask('c', 'draft-8')).headers['ratelimit']), /^"c";r=4;t=3\d{3}$/);
    const epoch = await ask('d', ['x-ratelimit-epoch']);
    assert.deepEqual([epoch.headers['x-ratelimit-remaining'], epoch.headers['ratelimit']], ['0', undefined]);
    const inAnHour = Number(epoch.headers['x-ratelimit-reset']) - Date.now() / 1000;
    assert.ok(inAnHour > 3500 && inAnHour < 3700);
  }),
  behaviour('headers: false tells nothing but what a refusal needs', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ search: rule(1) });
    const port = await serve({ limits: [{ limiter, rule: 'search', headers: false }], handler: ok });
    const passed = await send(port);
    assert.deepEqual([passed.headers['ratelimit'], passed.headers['ratelimit-policy']], [undefined, undefined]);
    const { status, headers } = await send(port);
    assert.deepEqual([status, headers['ratelimit']], [429, undefined]);
    assert.ok(Number(headers['retry-after']) > 0);
  }),
  behaviour('fields say whose budget they tell of, and what a unit is', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ download: { limit: slidingLog({ limit: 100, window: '1h' }) } });
    const limit = { limiter, rule: 'download', partitionSecret: 'at least sixteen characters', quotaUnits: { download: 'content-bytes' } };
    const port = await serve({ limits: [{ ...limit, key: (facts: Facts) => facts.header('x-api-key') ?? 'none' }], handler: ok });
    const partition = async (key: string) => {
      const { headers } = await send(port, { headers: { 'x-api-key': key } });
      const [policy] = read(headers['ratelimit-policy']);
      const [state] = read(headers['ratelimit']);
      assert.equal(policy?.['qu'], 'content-bytes');
      const [one, other] = [policy?.['pk'], state?.['pk']].map((pk) => Buffer.from(pk as ArrayBuffer).toString('hex'));
      assert.equal(one, other);
      assert.equal(one?.length, 24);
      return one;
    };
    assert.notEqual(await partition('ada'), await partition('bob'));
    assert.equal(await partition('ada'), await partition('ada'));
  }),
  behaviour('a refusal may be answered by a handler of one’s own, which finds the fields set', async ({ limiterOf, serve, host }) => {
    if (host.differs.ownAnswerElsewhere !== undefined) return;
    const port = await serve({ limits: [{ limiter: limiterOf({ search: rule(0) }), rule: 'search', ownAnswer: 'later!' }], handler: ok });
    const { status, body, headers } = await send(port);
    assert.deepEqual([status, body], [429, 'later!']);
    assert.ok(headers['ratelimit'] !== undefined);
    assert.equal(headers['cache-control'], 'no-store');
  }),
  behaviour('what can never pass is told no time to come again', async ({ limiterOf, serve }) => {
    const port = await serve({ limits: [{ limiter: limiterOf({ search: rule(5) }), rule: 'search', cost: 6 }], handler: ok });
    const { status, headers } = await send(port);
    assert.deepEqual([status, headers['retry-after']], [429, undefined]);
  }),
];
