import { createLimiter } from 'headgate';
import { normalizeAddress } from 'headgate/http';
import { describe, expect, it } from 'vitest';
import type { Exceptions } from '../src/rules/exceptions.js';
import { withExceptions, withoutExceptions, type Excepted } from '../src/rules/exceptional.js';
import { loadRules } from '../src/rules/load.js';

const note = { by: 'ann', at: 0 };
const always = { until: null, ...note };

const set = loadRules(
  'rules.yaml',
  `version: 1
rules:
  - { name: search, match: { path: /search }, key: [apiKey], limit: { fixedWindow: { limit: 2, window: 1h } }, plans: { pro: { fixedWindow: { limit: 9, window: 1h } } } }
  - { name: login-ip, key: [ip], limit: { fixedWindow: { limit: 2, window: 1h } } }
  - { name: named, limit: { fixedWindow: { limit: 2, window: 1h } } }
  - { name: leased, key: [apiKey], mode: lease, limit: { tokenBucket: { capacity: 5, refill: 1/s } } }
  - { name: synced, key: [apiKey], mode: { sync: 1s }, limit: { fixedWindow: { limit: 5, window: 1m } } }
  - { name: login-account, key: [account], limit: { consecutiveFailures: {} } }
`,
);

function excepted(some: Partial<Exceptions>, clock = { now: 1000 }): Excepted {
  return withExceptions(set, { plans: [], overrides: [], exemptions: [], shadows: [], ...some }, () => clock.now);
}

/** The limit under which a customer is decided, by the library itself. */
async function limitOf({ rules, planOf }: Excepted, customer: Parameters<Excepted['planOf']>[0]): Promise<number> {
  const limiter = createLimiter({ rules: rules.options });
  const plan = planOf(customer);
  const { limit } = await limiter.peek(customer.rule, customer.key, plan === undefined ? undefined : { plan });
  await limiter.close();
  return limit;
}

const ten = { fixedWindow: { limit: 10, window: '1h' } };
const override = { rule: 'search', customer: 'k', limit: ten, ...always };

describe('what differs from the rules', () => {
  it('goes by exemption, override, the plan that is told, the plan that is stored, the rule', async () => {
    const plans = [{ customer: 'k', plan: 'pro', ...always }];
    const exemptions = [{ rule: '*', kind: 'key' as const, subject: 'k', reason: '', ...always }];
    const k = { rule: 'search', key: 'k' };
    expect(await limitOf(withoutExceptions(set), k)).toBe(2);
    expect(await limitOf(excepted({ plans }), k)).toBe(9);
    expect(await limitOf(excepted({ plans }), { ...k, plan: 'free' })).toBe(2);
    expect(await limitOf(excepted({ plans, overrides: [override] }), { ...k, plan: 'free' })).toBe(10);
    expect(await limitOf(excepted({ plans, overrides: [override], exemptions }), k)).toBe(Infinity);
    expect(await limitOf(excepted({ plans, overrides: [override], exemptions }), { ...k, key: 'other' })).toBe(2);
  });

  it('is never chosen by a plan that a request tells, whatever it is called', async () => {
    const exemptions = [{ rule: 'search', kind: 'key' as const, subject: 'monitor', reason: '', ...always }];
    const some = excepted({ overrides: [override], exemptions });
    for (const plan of ['\0exempt', '\0override k', '\0']) expect(await limitOf(some, { rule: 'search', key: 'other', plan })).toBe(2);
    expect(withoutExceptions(set).planOf({ rule: 'search', key: 'other', plan: '\0exempt' })).toBeUndefined();
  });

  it('ends by itself while it is in memory', async () => {
    const clock = { now: 1000 };
    const until = { ...always, until: 2000 };
    const some = excepted(
      {
        plans: [{ customer: 'p', plan: 'pro', ...until }],
        overrides: [{ ...override, ...until }],
        exemptions: [
          { rule: 'search', kind: 'key', subject: 'e', reason: '', ...until },
          { rule: 'login-ip', kind: 'cidr', subject: '10.0.0.0/8', reason: '', ...until },
        ],
      },
      clock,
    );
    const limits = () =>
      Promise.all([
        ...['p', 'k', 'e'].map((key) => limitOf(some, { rule: 'search', key })),
        limitOf(some, { rule: 'login-ip', key: '10.1.1.1' }),
      ]);
    expect(await limits()).toEqual([9, 10, Infinity, Infinity]);
    clock.now = 2000;
    expect(await limits()).toEqual([2, 2, 2, 2]);
  });

  it('exempts addresses: of the client, else the key of a rule that counts by addresses, never a key that a client may choose', async () => {
    const cidrs = ['10.0.0.0/8', '2001:db8::/32', '2a00:1:2:3::1/128'];
    const exemptions = cidrs.map((subject) => ({ rule: '*', kind: 'cidr' as const, subject, reason: '', ...always }));
    const some = excepted({ exemptions });
    const isExempt = async (rule: string, key: string, address?: string): Promise<boolean> =>
      (await limitOf(some, { rule, key, address })) === Infinity;
    expect(await isExempt('search', 'k', '10.1.1.1')).toBe(true);
    expect(await isExempt('search', '10.1.1.1')).toBe(false);
    expect(await isExempt('search', '10.1.1.1', '203.0.113.1')).toBe(false);
    expect(await isExempt('login-account', '10.1.1.1')).toBe(false);
    expect(await isExempt('named', '::ffff:10.1.1.1')).toBe(true);
    expect(await isExempt('login-ip', '10.1.1.1')).toBe(true);
    expect(await isExempt('login-ip', '11.1.1.1')).toBe(false);
    expect(await isExempt('login-ip', normalizeAddress('2001:db8:5::7') ?? '')).toBe(true);
    // One of a /64 is not all of it.
    expect(await isExempt('login-ip', normalizeAddress('2a00:1:2:3::1') ?? '')).toBe(false);
  });

  it('has no effect on rules that are not there', () => {
    const some = excepted({
      overrides: [{ ...override, rule: 'gone' }],
      exemptions: [{ rule: 'gone', kind: 'key', subject: 'k', reason: '', ...always }],
      shadows: [{ rule: 'gone', on: true, ...note }],
    });
    expect(some.faults).toEqual([]);
    expect(some.rules.options).toEqual(set.options);
    expect(some.planOf({ rule: 'search', key: 'k', plan: 'pro' })).toBe('pro');
  });

  it('switches by its own name before that of all', () => {
    const { rules } = excepted({
      shadows: [
        { rule: '*', on: true, ...note },
        { rule: 'search', on: false, ...note },
      ],
    });
    expect([rules.options['search']?.shadow, rules.options['named']?.shadow]).toEqual([false, true]);
  });

  it('that a rule cannot have any more is told, and keeps nothing else out of force', async () => {
    const unfit = [
      { rule: 'leased', limit: { concurrency: { limit: 1, expires: '1m' } } },
      { rule: 'synced', limit: { fixedWindow: { limit: 5, window: '1s' } } },
      { rule: 'search', limit: { consecutiveFailures: {} } },
      { rule: 'named', limit: { noSuchLimit: {} } },
    ].map((one) => ({ ...one, customer: 'unfit', ...always }));
    const fit = [override, { ...override, rule: 'synced' }, { ...override, rule: 'leased' }];
    const some = excepted({ overrides: [...unfit, ...fit] });
    expect(some.faults.map((fault) => /"([\w-]+)"/.exec(fault)?.[1])).toEqual(['search', 'named', 'leased', 'synced']);
    for (const rule of ['search', 'synced', 'leased']) expect(await limitOf(some, { rule, key: 'k' })).toBe(10);
    expect(await limitOf(some, { rule: 'named', key: 'k' })).toBe(2);
  });

  it('may exempt from every kind of rule', async () => {
    const some = excepted({ exemptions: [{ rule: '*', kind: 'key', subject: 'k', reason: '', ...always }] });
    for (const rule of set.rules.keys()) expect(await limitOf(some, { rule, key: 'k' })).toBe(Infinity);
  });
});
