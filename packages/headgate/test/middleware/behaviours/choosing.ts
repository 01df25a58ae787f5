import assert from 'node:assert/strict';
import type { RuleOptions } from 'headgate';
import { send } from '../client.js';
import type { Behaviour, Facts, Limit } from '../site.js';
import { behaviour, hourly, left, ok, rule } from './shared.js';

const header = (name: string) => async (facts: Facts) => facts.header(name) ?? 'none';

/** Rules, keys, costs and plans as functions of the request; what handlers find. */
export const choosingBehaviours: readonly Behaviour[] = [
  behaviour('rule, key, cost and plan may be functions, also async ones', async ({ limiterOf, serve }) => {
    const plans = { pro: hourly(50) };
    const limiter = limiterOf({ read: rule(10, { plans }), write: rule(5) } satisfies Record<string, RuleOptions>);
    const limit: Limit = {
      limiter,
      rule: ({ method }) => (method === 'GET' ? 'read' : 'write'),
      key: header('x-api-key'),
      cost: async (facts) => Number(facts.header('x-cost') ?? 1),
      plan: (facts) => facts.header('x-plan'),
    };
    const port = await serve({ limits: [limit], handler: (_, info) => ({ status: 200, body: JSON.stringify(info?.decision) }) });
    const ask = async (method: string, headers: Record<string, string>) =>
      JSON.parse((await send(port, { method, headers })).body) as Record<string, unknown>;
    const plain = await ask('GET', { 'x-api-key': 'ada', 'x-cost': '3' });
    assert.deepEqual([plain['rule'], plain['key'], plain['cost'], plain['limit'], plain['remaining']], ['read', 'ada', 3, 10, 7]);
    const pro = await ask('GET', { 'x-api-key': 'bob', 'x-plan': 'pro' });
    assert.deepEqual([pro['limit'], pro['remaining']], [50, 49]);
    assert.equal((await ask('PUT', { 'x-api-key': 'ada' }))['rule'], 'write');
  }),
  behaviour('what is skipped, or has no checks, passes unasked', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ search: rule(0) });
    const skip = async (facts: Facts) => facts.header('x-health') !== undefined;
    const skipping = await serve({ limits: [{ limiter, rule: 'search', skip }], handler: (_, info) => ({ status: info ? 500 : 200 }) });
    const { status, headers } = await send(skipping, { headers: { 'x-health': '1' } });
    assert.deepEqual([status, headers['ratelimit']], [200, undefined]);
    assert.equal((await send(skipping)).status, 429);
    assert.equal((await send(await serve({ limits: [{ limiter, checks: () => [] }], handler: ok }))).status, 200);
  }),
  behaviour('the handler finds what was decided, check by check', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ perIp: rule(10), login: rule(5) });
    const checks = ({ body }: Facts) => [{ rule: 'perIp' }, { rule: 'login', key: (body as { account: string }).account, cost: 2 }];
    const port = await serve({
      limits: [{ limiter, checks }],
      handler: (_, info) => ({
        status: 200,
        body: JSON.stringify([info?.decision.rule, info?.decisions.map(({ rule, key, remaining }) => [rule, key, remaining])]),
      }),
    });
    const { body } = await send(port, { method: 'POST', json: { account: 'ada' } });
    assert.deepEqual(JSON.parse(body), [
      'login',
      [
        ['perIp', '127.0.0.1', 9],
        ['login', 'ada', 3],
      ],
    ]);
  }),
  behaviour('a function of one’s own that throws, or names nonsense, is an error and never a pass', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ search: rule(5) });
    const fail = (): never => {
      throw new Error('boom');
    };
    const limits: Limit[] = [
      { limiter, rule: 'search', key: fail },
      { limiter, rule: 'search', skip: fail },
      { limiter, checks: async () => fail() },
      { limiter, rule: () => 'no such rule' },
      { limiter, rule: 'search', cost: () => 0.5 },
      { limiter, checks: () => [{ rule: 'search', countWhen: 'sometimes' as 'always' }] },
    ];
    for (const limit of limits) {
      let handled = false;
      const handler = () => {
        handled = true;
        return ok();
      };
      const { status } = await send(await serve({ limits: [limit], handler }));
      assert.deepEqual([status, handled], [500, false]);
    }
    assert.equal(await left(limiter, 'search'), 5);
  }),
  behaviour('a cost known only afterwards is settled by the handler', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ tokens: rule(10_000) });
    const limit: Limit = { limiter, rule: 'tokens', cost: 4000, countWhen: 'failure' };
    const port = await serve({
      limits: [limit],
      async handler(facts, info) {
        const settled = await info?.settle('tokens', Number(facts.header('x-used')));
        return { status: 200, body: JSON.stringify(settled) };
      },
    });
    const settle = async (used: number) => JSON.parse((await send(port, { headers: { 'x-used': `${used}` } })).body) as unknown;
    assert.deepEqual(await settle(1234), { returned: 2766, charged: 0 });
    assert.equal(await left(limiter, 'tokens'), 8766);
    assert.deepEqual(await settle(4100), { returned: 0, charged: 100 });
    assert.equal(await left(limiter, 'tokens'), 4666);
  }),
  behaviour('settling a rule that was not checked is a TypeError that names those that were', async ({ limiterOf, serve }) => {
    const port = await serve({
      limits: [{ limiter: limiterOf({ search: rule(5), other: rule(5) }), rule: 'search' }],
      handler: async (_, info) => ({ status: 200, body: await info!.settle('other', 1).then(String, String) }),
    });
    assert.match((await send(port)).body, /TypeError: settle: this request was checked under "search"; got "other"/);
  }),
];
