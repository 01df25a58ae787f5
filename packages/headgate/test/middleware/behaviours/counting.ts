import assert from 'node:assert/strict';
import { concurrency, consecutiveFailures } from 'headgate';
import { eventually, send, sendAndLeaveMidway, sendAndWait } from '../client.js';
import type { Answer, Behaviour, Facts } from '../site.js';
import { behaviour, door, left, rule } from './shared.js';

const asTold = (facts: Facts): Answer => ({ status: Number(facts.header('x-status')), body: 'told' });
const askFor = (port: number, status: number) => send(port, { headers: { 'x-status': `${status}` } });

/** Which outcomes keep what a request took. */
export const countingBehaviours: readonly Behaviour[] = [
  behaviour('counting failures gives back what succeeded', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ login: rule(2) });
    const port = await serve({ limits: [{ limiter, rule: 'login', countWhen: 'failure' }], handler: asTold });
    for (const status of [200, 204, 302, 200]) {
      assert.equal((await askFor(port, status)).status, status);
      await eventually('the unit is back', async () => (await left(limiter, 'login')) === 2);
    }
    assert.equal((await askFor(port, 401)).status, 401);
    assert.equal((await askFor(port, 503)).status, 503);
    assert.equal((await askFor(port, 200)).status, 429);
  }),
  behaviour('counting successes gives back what failed', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ sms: rule(1) });
    const port = await serve({ limits: [{ limiter, rule: 'sms', countWhen: 'success' }], handler: asTold });
    for (const status of [400, 500]) {
      assert.equal((await askFor(port, status)).status, status);
      await eventually('the unit is back', async () => (await left(limiter, 'sms')) === 1);
    }
    assert.equal((await askFor(port, 200)).status, 200);
    assert.equal((await askFor(port, 200)).status, 429);
  }),
  behaviour('a function may say which outcomes count, and each check of a group may say for itself', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ all: rule(10), wrong: rule(10) });
    const countWhen = ({ status }: { status: number }) => status === 401;
    const port = await serve({ limits: [{ limiter, checks: [{ rule: 'all' }, { rule: 'wrong', countWhen }] }], handler: asTold });
    for (const status of [200, 401, 500]) await askFor(port, status);
    await eventually('two units are back', async () => (await left(limiter, 'wrong')) === 9);
    assert.equal(await left(limiter, 'all'), 7);
  }),
  behaviour('many at once cannot pass beside a limit that counts failures', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ login: rule(3) });
    const { pass, open, waiting } = door();
    const handler = async (): Promise<Answer> => {
      await pass();
      return { status: 401 };
    };
    const port = await serve({ limits: [{ limiter, rule: 'login', countWhen: 'failure' }], handler });
    const answers = Promise.all(Array.from({ length: 12 }, () => send(port)));
    await eventually('three are let through', () => waiting() === 3);
    open();
    const statuses = (await answers).map(({ status }) => status).sort();
    assert.deepEqual(statuses, [401, 401, 401, ...Array.from({ length: 9 }, () => 429)]);
  }),
  behaviour('a handler that throws has failed', async ({ limiterOf, serve, host }) => {
    const limiter = limiterOf({ failures: rule(5), successes: rule(5) });
    const checks = [
      { rule: 'failures', countWhen: 'failure' as const },
      { rule: 'successes', countWhen: 'success' as const },
    ];
    const handler = (): never => {
      throw new Error('boom');
    };
    const { status, headers } = await send(await serve({ limits: [{ limiter, checks }], handler }));
    assert.equal(status, 500);
    assert.equal(headers['ratelimit'] === undefined, host.differs.errorsDropFields !== undefined);
    await eventually('the success is given back', async () => (await left(limiter, 'successes')) === 5);
    assert.equal(await left(limiter, 'failures'), 4);
  }),
  behaviour('a client that leaves before the answer is counted, whichever outcomes are', async ({ limiterOf, serve }) => {
    for (const countWhen of ['failure', 'success', () => false] as const) {
      const limiter = limiterOf({ sms: rule(5) });
      const key = String(countWhen);
      const { pass, open, waiting } = door();
      const handler = async (): Promise<Answer> => {
        await pass();
        return { status: countWhen === 'success' ? 500 : 200, body: 'late' };
      };
      const endings = limiterOf({ here: { limit: concurrency({ limit: 5, expires: '5m' }) } });
      const limits = [
        { limiter, rule: 'sms', countWhen, key },
        { limiter: endings, rule: 'here', key },
      ];
      const port = await serve({ limits, handler });
      const gone = sendAndWait(port);
      await eventually('it is handled', () => waiting() === 1);
      gone.leave();
      // The holder of the second limit ends by the same event that settles the first.
      await eventually('its leaving is heard', async () => (await left(endings, 'here', key)) === 5);
      open();
      await eventually('the handler ends', () => waiting() === 0);
      assert.equal(await left(limiter, 'sms', key), 4);
    }
  }),
  behaviour('a client that leaves in the middle of the answer is counted, too', async ({ limiterOf, serve }) => {
    const limiter = limiterOf({ sms: rule(5), here: { limit: concurrency({ limit: 5, expires: '5m' }) } });
    const { pass, open } = door();
    async function* body() {
      yield 'first part';
      await pass();
      yield 'second part';
    }
    const checks = [{ rule: 'sms', countWhen: 'failure' as const }, { rule: 'here' }];
    const port = await serve({ limits: [{ limiter, checks }], handler: () => ({ status: 200, body: body() }) });
    await sendAndLeaveMidway(port);
    await eventually('its leaving is heard', async () => (await left(limiter, 'here')) === 5);
    open();
    assert.equal(await left(limiter, 'sms'), 4);
  }),
  behaviour('of consecutive failures a success forgets all, and a failure waits', async ({ limiterOf, serve }) => {
    const limit = consecutiveFailures({ limit: 10, free: 1, firstWait: '1h', longestWait: '1h' });
    const limiter = limiterOf({ login: { limit } });
    const port = await serve({ limits: [{ limiter, rule: 'login' }], handler: asTold });
    assert.equal((await askFor(port, 401)).status, 401);
    assert.equal((await askFor(port, 200)).status, 200);
    await eventually('all is forgotten', async () => (await left(limiter, 'login')) === 2);
    assert.equal((await askFor(port, 401)).status, 401);
    assert.equal((await askFor(port, 401)).status, 401);
    const refused = await askFor(port, 200);
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers['retry-after']) > 3500);
  }),
];
