import { expect, it, describe } from 'vitest';
import { signatureOf, webhook, type WebhookEvent } from '../src/observe/webhook.js';
import { receiver } from './support/receiver.js';
import { later } from './support/service.js';

const secret = 'a secret of the receiver';
const event = (n: number): WebhookEvent => ({ id: `event-${n}`, type: 'quota.near-limit', data: { rule: 'monthly', n } });

function sender(url: string, waitMs: (failed: number) => number = () => 1) {
  const dropped: string[] = [];
  const hook = webhook({ url, secret, waitMs, onDropped: ({ id }, why) => dropped.push(`${id}: ${why}`) });
  later(() => hook.close());
  return { hook, dropped };
}

describe('a webhook', () => {
  it('is posted as JSON, signed over id, time and body', async () => {
    const { received, url } = await receiver();
    const { hook } = sender(url);
    hook.send(event(1));
    await expect.poll(() => hook.stats()).toEqual({ delivered: 1, failed: 0, dropped: 0, waiting: 0 });
    const [{ headers, body } = { headers: {}, body: '' }] = received;
    expect(JSON.parse(body)).toMatchObject({ type: 'quota.near-limit', data: { rule: 'monthly', n: 1 } });
    const seconds = Number(headers['webhook-timestamp']);
    expect(Math.abs(Date.now() / 1000 - seconds)).toBeLessThan(60);
    expect(headers['webhook-id']).toBe('event-1');
    expect(headers['webhook-signature']).toBe(signatureOf({ id: 'event-1', seconds, body }, secret));
  });

  it('is signed as the test vector of Standard Webhooks says', () => {
    const key = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const signed = signatureOf({ id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', seconds: 1614265330, body: '{"test": 2432232314}' }, key);
    expect(signed).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  it('that fails is tried again under the same id, until it arrives', async () => {
    const { received, url } = await receiver(500, -1, 302, 429);
    const { hook, dropped } = sender(url);
    hook.send(event(1));
    await expect.poll(() => hook.stats().delivered).toBe(1);
    expect(received.map(({ headers }) => headers['webhook-id'])).toEqual(Array.from({ length: 5 }, () => 'event-1'));
    expect(hook.stats().failed).toBe(4);
    expect(dropped).toEqual([]);
  });

  it('is given up after ten attempts, or when the receiver says that it is gone', async () => {
    const { received, url } = await receiver(410, ...Array.from({ length: 10 }, () => 503));
    const { hook, dropped } = sender(url);
    hook.send(event(1));
    await expect.poll(() => dropped).toEqual(['event-1: status 410']);
    hook.send(event(2));
    await expect.poll(() => dropped).toEqual(['event-1: status 410', 'event-2: status 503']);
    expect(received).toHaveLength(11);
  });

  it('waits with at most 1,000 others, and delays nobody who sends it', async () => {
    const { url } = await receiver(...Array.from({ length: 8 }, () => 0));
    const { hook, dropped } = sender(url);
    for (let n = 0; n < 1005; n += 1) hook.send(event(n));
    expect(hook.stats()).toEqual({ delivered: 0, failed: 0, dropped: 5, waiting: 1000 });
    expect(dropped.at(-1)).toBe('event-1004: over 1000 events wait');
  });

  it('ends with its process: nothing is sent any more, and no timer is left', async () => {
    const { received, url } = await receiver(500);
    const { hook } = sender(url, () => 60_000);
    hook.send(event(1));
    await expect.poll(() => received).toHaveLength(1);
    hook.close();
    hook.send(event(2));
    await expect.poll(() => hook.stats().waiting).toBe(0);
    expect(received).toHaveLength(1);
  });
});
