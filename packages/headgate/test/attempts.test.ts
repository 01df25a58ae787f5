import { describe, expect, it, onTestFinished } from 'vitest';
import { monitor } from '../../../test/support/monitor.js';
import { consecutiveFailures, createLimiter, fixedWindow, unlimited } from '../src/index.js';
import type { PortableReceipt } from '../src/index.js';
import { redisStore } from '../src/redis.js';
import { deployments } from './support/two-limiters.js';
import { expectTypeError, wrong } from './support/wrong-input.js';

const { each, client, server } = deployments();

const login = consecutiveFailures({ free: 2 });

describe.each(each)('attempts to log in, over one store %s', (name, two) => {
  it('of 50 parallel guesses on two servers three begin, and then none for the first wait', async () => {
    const [a, b] = two({ login: { limit: login } });
    const decisions = await Promise.all(Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? a : b).check('login', 'ada')));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(3);
    for (const { allowed, retryAfterMs, reason, limit } of decisions) {
      expect(limit).toBe(100);
      if (allowed) continue;
      expect(reason).toBe('limited');
      expect(retryAfterMs).toBeGreaterThan(28_000);
      expect(retryAfterMs).toBeLessThanOrEqual(30_000);
    }
    expect(await b.peek('login', 'ada')).toMatchObject({ allowed: false, remaining: 0 });
    expect(await b.check('login', 'bob')).toMatchObject({ allowed: true, remaining: 2 });
  });

  it('a success forgets all failures, and is told once; a failure changes nothing', async () => {
    const [a, b] = two({ login: { limit: login } });
    const first = await a.check('login', 'ada');
    expect(await a.outcome(first, 'failure')).toBe(false);
    const second = await b.check('login', 'ada');
    expect(second).toMatchObject({ allowed: true, remaining: 1, reason: 'ok' });
    expect(await b.outcome(second, 'success')).toBe(true);
    expect(await a.peek('login', 'ada')).toMatchObject({ allowed: true, remaining: 3, resetAfterMs: 0 });
    const third = await a.check('login', 'ada');
    expect(await Promise.all([a.outcome(third, 'failure'), a.outcome(third, 'success'), a.refund(third)])).toEqual([false, false, 0]);
    expect(await b.outcome(second, 'success')).toBe(false);
    expect(await a.peek('login', 'ada')).toMatchObject({ remaining: 2 });
  });

  it('one that was aborted is taken back, once', async () => {
    const [a, b] = two({ login: { limit: login } });
    const attempt = await a.check('login', 'ada', { cost: 2 });
    expect([await b.refund(attempt), await a.refund(attempt)]).toEqual([2, 0]);
    expect(await a.outcome(attempt, 'success')).toBe(false);
    expect(await b.peek('login', 'ada')).toMatchObject({ remaining: 3 });
    const reserved = await a.reserve('login', 'ada');
    expect(await reserved.cancel()).toEqual({ returned: 1, charged: 0 });
    expect(await b.peek('login', 'ada')).toMatchObject({ remaining: 3 });
  });

  it('a receipt tells its outcome from anywhere, and nothing is kept in mind of a success', async () => {
    const [a, b] = two({ login: { limit: login } });
    const receipt = a.receipt(await a.check('login', 'ada'));
    const travelled = JSON.parse(JSON.stringify(receipt)) as PortableReceipt;
    await b.check('login', 'ada');
    expect(await b.outcome(travelled, 'failure')).toBe(false);
    expect(await b.outcome(travelled, 'success')).toBe(true);
    await b.check('login', 'ada');
    expect(await a.outcome(travelled, 'success')).toBe(false);
    expect(await b.refund(travelled)).toBe(0);
    expect(await a.peek('login', 'ada')).toMatchObject({ remaining: 2 });
    if (name === 'in Redis') expect((await client().keys('*')).filter((key) => !key.includes('{fleet}'))).toEqual(['hg:2{ada}a:login']);
  });

  it('in a group all or nothing, and the outcome is told of the group', async () => {
    const [a, b] = two({ login: { limit: login }, perIp: { limit: fixedWindow({ limit: 2, window: '1h', from: 'first-request' }) } });
    const attempt = (account: string) =>
      a.checkAll([
        { rule: 'login', key: account },
        { rule: 'perIp', key: '203.0.113.7' },
      ]);
    const first = await attempt('ada');
    expect(first.allowed).toBe(true);
    expect(await a.outcome(first, 'success')).toBe(true);
    expect((await attempt('ada')).allowed).toBe(true);
    const refused = await attempt('ada');
    expect(refused).toMatchObject({ allowed: false, rule: 'perIp' });
    expect(await a.outcome(refused, 'success')).toBe(false);
    expect(await b.peek('login', 'ada')).toMatchObject({ remaining: 2 });
    expect(await b.peek('perIp', '203.0.113.7')).toMatchObject({ remaining: 0 });
  });

  it('ban, unban, reset, plans, shadow and acquire do what they do for others', async () => {
    const [a, b] = two({
      login: { limit: login, plans: { known: consecutiveFailures({ free: 9 }), staff: unlimited() } },
      watch: { limit: consecutiveFailures({ free: 0 }), shadow: true },
      quick: { limit: consecutiveFailures({ free: 0, firstWait: 50, longestWait: 50 }) },
    });
    await a.check('login', 'ada', { cost: 3 });
    expect(await b.check('login', 'ada')).toMatchObject({ allowed: false });
    expect(await b.outcome(await b.check('login', 'ada', { plan: 'staff' }), 'success')).toBe(false);
    expect(await b.check('login', 'ada', { plan: 'known' })).toMatchObject({ allowed: true, remaining: 6 });
    await a.ban('login', 'ada', '1h');
    expect(await b.check('login', 'ada', { plan: 'known' })).toMatchObject({ allowed: false, reason: 'banned' });
    await a.unban('login', 'ada');
    await a.reset('login', 'ada');
    expect(await a.check('login', 'ada')).toMatchObject({ allowed: true, remaining: 2 });
    await a.check('watch', 'ada');
    expect(await a.check('watch', 'ada')).toMatchObject({ allowed: true, wouldAllow: false, reason: 'limited' });
    const began = performance.now();
    for (let i = 0; i < 3; i += 1) expect(await a.acquire('quick', 'ada', { maxWait: '5s' })).toMatchObject({ allowed: true });
    expect(performance.now() - began).toBeGreaterThan(95);
  });

  it('of a limit that has no outcomes, or none that there is, it is a TypeError, and nothing is spent', async () => {
    const [a] = two({ login: { limit: login }, perIp: { limit: fixedWindow({ limit: 2, window: '1h', from: 'first-request' }) } });
    const taken = await a.check('perIp', 'ip');
    const group = await a.checkAll([{ rule: 'perIp', key: 'ip' }]);
    for (const wrongly of [taken, group, a.receipt(taken)])
      await expectTypeError(
        () => a.outcome(wrong(wrongly), 'success'),
        'HEADGATE_BAD_CALL',
        'outcome: rule "perIp" does not count consecutive failures',
        'refund()',
      );
    const refused = await a.check('perIp', 'ip', { cost: 3 });
    await expectTypeError(() => a.outcome(refused, 'failure'), 'HEADGATE_BAD_CALL', 'does not count consecutive failures');
    expect([await a.refund(taken), await a.refund(group)]).toEqual([1, 1]);
    const attempt = await a.check('login', 'ada');
    for (const result of ['ok', undefined, true])
      await expectTypeError(() => a.outcome(attempt, wrong(result)), 'HEADGATE_BAD_CALL', 'expected "success" or "failure"');
    await expectTypeError(() => a.outcome({ ...attempt }, 'success'), 'HEADGATE_BAD_CALL', 'not a copy');
    expect(await a.outcome(attempt, 'success')).toBe(true);
  });
});

describe('attempts to log in, over Redis', () => {
  it('cost one call each, a success one more, and a failure, or a guess that waits, none', async () => {
    const limiter = createLimiter({ store: redisStore({ client: client() }), deadline: '2s', rules: { login: { limit: login } } });
    onTestFinished(() => limiter.close());
    await limiter.outcome(await limiter.check('login', 'warm'), 'success');
    const watch = await monitor(server().port);
    const attempts = [await limiter.check('login', 'ada'), await limiter.check('login', 'ada'), await limiter.check('login', 'ada')];
    for (const attempt of attempts.slice(1)) await limiter.outcome(attempt, 'failure');
    // The first refusal is noted.
    for (let i = 0; i < 20; i += 1) expect(await limiter.check('login', 'ada')).toMatchObject({ allowed: false });
    expect(await watch.count('EVALSHA')).toBe(4);
    if (attempts[0]) await limiter.outcome(attempts[0], 'success');
    expect(await limiter.check('login', 'ada')).toMatchObject({ allowed: true, remaining: 2, source: 'store' });
    expect(await watch.count('EVALSHA')).toBe(6);
    watch.stop();
  });
});
