import { consecutiveFailures, createLimiter, fixedWindow, type PortableReceipt } from 'headgate';
import { describe, expect, it } from 'vitest';
import { receipts } from '../src/usecases/receipts.js';
import { start } from './support/service.js';

const secret = 'a secret of more than sixteen characters';
const rules = 'version: 1\nrules:\n  - { name: a, limit: { fixedWindow: { limit: 10, window: 1h } } }\n';

async function receipt(): Promise<PortableReceipt> {
  const limiter = createLimiter({ rules: { a: { limit: fixedWindow({ limit: 5, window: '1h' }) } } });
  const made = limiter.receipt(await limiter.check('a', 'customer 42'));
  if (made === undefined) throw new Error('nothing was taken');
  return made;
}

/** Sealed under the secret above by an earlier build. */
const sealedBefore =
  'OVGBKR7AxrUAAAAAqGd1R5LA1NAEG_UsarZi-O5UCphjdZS5VJ3KfsUIdEnT7zoDRs-XauitZTqHGt8Op8al0M86YoamnWcLHjY8jOejuXlc4cVGElpF9zmSXvjR0al-' +
  'bFCuXCNfdtoDot3SnWJk0v9bBdkE9Q5Amo3JyiHeH-ZLYOOezdSB8hwy4_ROypWCaJbq22JPNkkvO15x78PrhoWy_aPXaqzB0Ya2EkR9JClXsrxnieuAA3Apt4JPVTAtn' +
  'CUTqmpYOmwqdPmMeJ6pQLnvqBvfCHOX_xUk6jQtNcx7SW7g3FSf548w9Eq0KKHn-ZQWEUTKJ_ffRKi-MWuBUyJmc4IV16xX-XxjUEyKz0Wx09Q';

describe('an id', () => {
  it('is read whichever version sealed it', () => {
    expect(receipts(secret).open(sealedBefore)).toEqual({
      rule: 'a',
      key: 'customer 42',
      limit: { kind: 'fixedWindow', limit: 5, windowUs: 3_600_000_000, from: 'epoch' },
      taken: 1,
      takenAt: 1_764_540_000_000_000,
      windowEnd: 1_764_543_600_000_000,
      degraded: false,
      onceId: '0b2c8a4e-7d10-4b6a-9a51-3f1f5a7f2c11',
    });
  });

  it('holds all of a receipt, for every server with the secret', async () => {
    const made = await receipt();
    expect(receipts(secret).open(receipts(secret).seal(made))).toEqual(made);
  });

  it('holds also an attempt to log in', async () => {
    const limiter = createLimiter({ rules: { login: { limit: consecutiveFailures() } } });
    const made = limiter.receipt(await limiter.check('login', 'ada'));
    if (made === undefined) throw new Error('nothing was taken');
    expect(receipts(secret).open(receipts(secret).seal(made))).toEqual(made);
  });

  it('shows nothing of what it holds, and is another each time', async () => {
    const made = await receipt();
    const id = receipts(secret).seal(made);
    expect(Buffer.from(id, 'base64url').toString('latin1')).not.toMatch(/customer|fixedWindow|taken/);
    expect(receipts(secret).seal(made)).not.toBe(id);
  });

  it('is nothing under another secret, or with any part changed', async () => {
    const id = receipts(secret).seal(await receipt());
    expect(receipts('another secret of sixteen').open(id)).toBeUndefined();
    for (let at = 0; at < id.length; at += 7) {
      const forged = `${id.slice(0, at)}${id[at] === 'A' ? 'B' : 'A'}${id.slice(at + 1)}`;
      expect(receipts(secret).open(forged), String(at)).toBeUndefined();
    }
    for (const other of ['', 'x', '!', id.slice(0, -4), `${id}AAAA`, 'A'.repeat(200), 'A'.repeat(70_000)])
      expect(receipts(secret).open(other)).toBeUndefined();
  });

  it('is nothing if what was sealed is no receipt', async () => {
    const made = await receipt();
    for (const bad of [{ ...made, taken: -1 }, { ...made, taken: 1e12 }, { ...made, limit: { kind: 'none' } }, { ...made, more: 1 }, {}]) {
      expect(receipts(secret).open(receipts(secret).seal(bad as PortableReceipt))).toBeUndefined();
    }
  });

  it('is refused with a pointer where it was made by another service', async () => {
    const [ours, theirs] = [await start({ rules, secret }), await start({ rules })];
    const { id } = (await theirs.post('/v1/check', { rule: 'a', key: 'k' })).json.decision;
    for (const verb of ['refund', 'cancel', 'release', 'extend']) {
      const { status, json, headers } = await ours.post(`/v1/${verb}`, { id });
      expect([status, json.errors[0].pointer, headers['content-type']]).toEqual([400, '/id', 'application/problem+json']);
    }
    expect((await ours.post('/v1/settle', { id: 'forged', actual: 0 })).status).toBe(400);
    expect((await theirs.post('/v1/refund', { id })).json).toEqual({ returned: 1 });
  });
});
