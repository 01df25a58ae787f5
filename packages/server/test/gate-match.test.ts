import { describe, expect, it } from 'vitest';
import { hostsAsked } from '../src/edge/http/asked.js';
import { start } from './support/service.js';

const rules = (trust: string): string => `
version: 1
identify: { trustProxies: ${trust}, plan: [header:x-plan] }
rules:
  - { name: api, match: { host: api.example.com }, key: [ip], limit: { fixedWindow: { limit: 100, window: 1h } } }
  - { name: below, match: { host: "*.example.com", path: /a }, key: [ip], limit: { fixedWindow: { limit: 100, window: 1h } } }
  - { name: beta, match: { header: { x-beta: "*", x-client: ios } }, key: [ip], limit: { fixedWindow: { limit: 100, window: 1h } } }
  - { name: pro, match: { plan: pro, path: /a }, key: [ip], limit: { fixedWindow: { limit: 100, window: 1h } } }
  - name: planned
    match: { path: /planned }
    key: [ip]
    limit: { fixedWindow: { limit: 1, window: 1h } }
    plans: { pro: { fixedWindow: { limit: 3, window: 1h } } }
`;
const trusting = rules('[127.0.0.1]');

/** The names of the rules that a gate's answer tells of. */
const appliedIn = ({ headers }: { headers: Record<string, string | undefined> }): string[] =>
  [...(headers['ratelimit'] ?? '').matchAll(/"(\w+)";/g)].map(([, name]) => name ?? '');

describe('the gate', () => {
  it('applies rules by host, header and plan, all as one group', async () => {
    const { get } = await start({ rules: trusting });
    const all = { host: 'api.example.com', 'x-beta': '', 'x-client': 'ios', 'x-plan': 'pro' };
    expect(appliedIn(await get('/v1/gate/a', { headers: all })).sort()).toEqual(['api', 'below', 'beta', 'pro']);
    expect(appliedIn(await get('/v1/gate/a', { headers: { ...all, host: 'example.com', 'x-client': 'web', 'x-plan': 'free' } }))).toEqual(
      [],
    );
  });

  it('takes the host from any field that may tell it: none that a client adds takes a rule away', async () => {
    const { get } = await start({ rules: trusting });
    const host = 'api.example.com';
    for (const headers of [{ host }, { 'x-original-host': host }, { 'x-forwarded-host': `${host}, proxy` }]) {
      expect(appliedIn(await get('/v1/gate', { headers })), JSON.stringify(headers)).toEqual(['api']);
      for (const added of ['x-original-host', 'x-forwarded-host', 'host'].filter((name) => !(name in headers)))
        expect(appliedIn(await get('/v1/gate', { headers: { ...headers, [added]: 'made-up.org' } })), added).toEqual(['api']);
    }
  });

  it('gives a plan of the gateway its own limit, and none of a client', async () => {
    const limits = async (trust: string) => {
      const { get } = await start({ rules: rules(trust) });
      const { headers } = await get('/v1/gate/planned', { headers: { 'x-plan': 'pro' } });
      return [headers['ratelimit-policy'], headers['ratelimit']];
    };
    expect(await limits('[127.0.0.1]')).toEqual(['"planned";q=3;w=3600', expect.stringMatching(/^"planned";r=2;/)]);
    expect(await limits('[10.0.0.1]')).toEqual(['"planned";q=1;w=3600', expect.stringMatching(/^"planned";r=0;/)]);
  });

  it('refuses a request with two plans, and says so', async () => {
    const { get } = await start({ rules: trusting });
    const headers = { 'x-plan': ['free', 'pro'] };
    const { status, json } = await get('/v1/gate/planned', { headers });
    expect([status, json.detail]).toEqual([403, 'this request has several values of header:x-plan, which tells its plan']);
    expect((await get('/v1/gate/planned?refuse=403', { headers })).headers['x-headgate-status']).toBe('403');
  });
});

describe('the hosts that a request may be for', () => {
  it('are few: more are refused, and make no work', () => {
    const many = Array.from({ length: 17 }, (_, n) => `${n}.org`);
    const headers = { host: ['a.org'], 'x-original-host': ['b.org', 'b.org'], 'x-forwarded-host': ['c.org, d.org'] };
    expect(hostsAsked({ headers, trusted: true })).toEqual(['b.org', 'c.org', 'd.org', 'a.org']);
    expect(hostsAsked({ headers, trusted: false })).toEqual(['b.org', 'a.org']);
    for (const fields of [{ 'x-original-host': many }, { 'x-original-host': [many.join(',')] }])
      expect(() => hostsAsked({ headers: fields, trusted: false })).toThrow(
        expect.objectContaining({ errors: [expect.objectContaining({ detail: expect.stringContaining('overwrite') })] }),
      );
    expect(hostsAsked({ headers: { 'x-original-host': [' , ', ''] }, trusted: false })).toEqual([]);
  });
});
