import assert from 'node:assert/strict';
import { send } from '../client.js';
import type { Behaviour, Facts, Limit } from '../site.js';
import { behaviour, left, ok, rule } from './shared.js';

const from = (port: number, headers: Record<string, string>) => send(port, { headers }).then(({ status }) => status);
const forwarded = (port: number, value: string) => from(port, { 'x-forwarded-for': value });

/** Whose budget it is. */
export const identityBehaviours: readonly Behaviour[] = [
  behaviour('the client’s address is the key where none is said', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ search: rule(5) });
    const port = await serve({ limits: [{ limiter, rule: 'search' }], handler: ok });
    await send(port);
    assert.equal(await left(limiter, 'search'), 4);
  }),
  behaviour('who forges X-Forwarded-For stays who he is, and the operator is warned once', async ({ limiterOf, serve, host }) => {
    const limiter = limiterOf({ search: rule(3) });
    const warnings: string[] = [];
    const limit: Limit = { limiter, rule: 'search', onWarning: (message) => warnings.push(message) };
    const port = await serve({ limits: [limit], handler: ok });
    const statuses = [];
    for (let i = 0; i < 4; i += 1) statuses.push(await forwarded(port, `9.9.9.${i}`));
    assert.deepEqual(statuses, [200, 200, 200, 429]);
    if (host.differs.noSocket !== undefined) return;
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? '', /no proxy is trusted/);
  }),
  behaviour('behind three hops what stands left of them changes nothing', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ search: rule(2) });
    const port = await serve({ limits: [{ limiter, rule: 'search', trustProxies: 3 }], handler: ok });
    const hops = '10.0.0.1, 10.0.0.2';
    assert.equal(await forwarded(port, `6.6.6.6, 9.9.9.9, ${hops}`), 200);
    assert.equal(await forwarded(port, `7.7.7.7, 9.9.9.9, ${hops}`), 200);
    assert.equal(await forwarded(port, `9.9.9.9, ${hops}`), 429);
    assert.equal(await forwarded(port, `9.9.9.9, 8.8.8.8, ${hops}`), 200);
  }),
  behaviour('proxies named by CIDR are walked over from the right', async ({ limiterOf, serve, host }) => {
    if (host.differs.noSocket !== undefined) return;
    const limiter = limiterOf({ search: rule(2) });
    const port = await serve({ limits: [{ limiter, rule: 'search', trustProxies: ['127.0.0.0/8', '10.0.0.0/8'] }], handler: ok });
    assert.equal(await forwarded(port, '6.6.6.6, 9.9.9.9, 10.0.0.1, 10.200.0.2'), 200);
    assert.equal(await forwarded(port, '9.9.9.9'), 200);
    assert.equal(await forwarded(port, '9.9.9.9:4711, 10.0.0.1'), 429);
  }),
  behaviour('mapped forms of one IPv4 address are one client', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ search: rule(2) });
    const port = await serve({ limits: [{ limiter, rule: 'search', trustProxies: 1 }], handler: ok });
    const statuses = [];
    for (const text of ['::ffff:1.2.3.4', '::ffff:102:304', '1.2.3.4']) statuses.push(await forwarded(port, text));
    assert.deepEqual(statuses, [200, 200, 429]);
  }),
  behaviour('two addresses of one /64 are one client, of two they are two; the prefix is an option', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ a: rule(1), b: rule(1) });
    const ask = async (port: number) => [await forwarded(port, '2001:db8:0:1::1'), await forwarded(port, '2001:db8:0:1:ffff::2')];
    const by64 = await serve({ limits: [{ limiter, rule: 'a', trustProxies: 1 }], handler: ok });
    assert.deepEqual(await ask(by64), [200, 429]);
    assert.equal(await forwarded(by64, '2001:db8:0:2::1'), 200);
    const whole = await serve({ limits: [{ limiter, rule: 'b', trustProxies: 1, ipv6Prefix: 128 }], handler: ok });
    assert.deepEqual(await ask(whole), [200, 200]);
  }),
  behaviour('Forwarded and X-Real-IP are read where the proxies write them, and only there', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ a: rule(1), b: rule(1) });
    const standard = await serve({ limits: [{ limiter, rule: 'a', trustProxies: 1, addressSource: 'forwarded' }], handler: ok });
    assert.equal(await from(standard, { forwarded: 'for=6.6.6.6, for="[2001:db8::1]:443"' }), 200);
    assert.equal(await from(standard, { forwarded: 'for="[2001:db8::2]"', 'x-forwarded-for': '5.5.5.5' }), 429);
    const nginx = await serve({ limits: [{ limiter, rule: 'b', trustProxies: 1, addressSource: 'x-real-ip' }], handler: ok });
    assert.equal(await from(nginx, { 'x-real-ip': '9.9.9.9' }), 200);
    assert.equal(await from(nginx, { 'x-real-ip': '9.9.9.9', forwarded: 'for=5.5.5.5' }), 429);
  }),
  behaviour('what is not an address is not a key', async ({ limiterOf, serve, host }) => {
    const limiter = limiterOf({ search: rule(1) });
    const port = await serve({ limits: [{ limiter, rule: 'search', trustProxies: 1 }], handler: ok });
    const statuses = [];
    for (const text of ['unknown', '_hidden', '010.0.0.1', "1'; drop"]) statuses.push(await forwarded(port, text));
    // Counted as the socket's own address; without one there is nothing to count by.
    assert.deepEqual(statuses, host.differs.noSocket === undefined ? [200, 429, 429, 429] : [500, 500, 500, 500]);
  }),
  behaviour(
    'a missing key, or what is none, is answered 400 and takes nothing; it is never one budget for everybody',
    async ({ limiterOf, serve }) => {
      const limiter = limiterOf({ perIp: rule(5), login: rule(5) });
      let handled = 0;
      const handler = () => {
        handled += 1;
        return ok();
      };
      const account = ({ body }: Facts) => (body as { account?: string } | undefined)?.account as string;
      const limits: Limit[] = [
        { limiter, rule: 'login', key: account },
        { limiter, checks: (facts) => [{ rule: 'perIp' }, { rule: 'login', key: account(facts) }] },
      ];
      for (const limit of limits) {
        const port = await serve({ limits: [limit], handler });
        for (const account of [undefined, null, '', 1, ['ada'], '\ud800', 'a'.repeat(70_000)]) {
          const json = { account };
          const { status, headers, body } = await send(port, { method: 'POST', json });
          assert.equal(status, 400);
          assert.match(headers['content-type'] ?? '', /^application\/problem\+json/);
          assert.match(body, /this request has no key/);
        }
        assert.equal((await send(port, { method: 'POST', json: { account: 'ada' } })).status, 200);
      }
      assert.equal(handled, 2);
      assert.equal(await left(limiter, 'perIp'), 4);
      assert.equal(await left(limiter, 'login', 'ada'), 3);
    },
  ),
  behaviour('an address of one’s own choosing is normalized, too', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ search: rule(1) });
    const address = async (facts: Facts) => facts.header('x-client');
    const port = await serve({ limits: [{ limiter, rule: 'search', address }], handler: ok });
    assert.equal(await from(port, { 'x-client': '2001:db8::1' }), 200);
    assert.equal(await from(port, { 'x-client': '[2001:db8::2]:443' }), 429);
    assert.equal(await from(port, {}), 500);
  }),
];
