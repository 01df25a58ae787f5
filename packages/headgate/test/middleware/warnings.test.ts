import { createLimiter, fixedWindow } from 'headgate';
import { rateLimit } from 'headgate/hono';
import { Hono } from 'hono';
import { describe, expect, it, vi } from 'vitest';

const made = () => createLimiter({ rules: { a: { limit: fixedWindow({ limit: 1e6, window: '1h' }) } } });

/** An app of one limit, asked as if over a socket from `address`. */
function appWith(options: Partial<Parameters<typeof rateLimit<'a'>>[0]> = {}) {
  const warnings: string[] = [];
  const limiter = made();
  const onWarning = (message: string) => void warnings.push(message);
  const app = new Hono()
    .use(rateLimit({ limiter, onWarning, ...options, rule: 'a' } as Parameters<typeof rateLimit<'a'>>[0]))
    .get('/', (c) => c.text('ok'));
  const ask = async (address: string, headers: Record<string, string> = {}) =>
    (await app.request('/', { headers }, { incoming: { socket: { remoteAddress: address } } })).status;
  return { warnings, ask, limiter, onWarning };
}

describe('a misconfiguration is warned of once', () => {
  it('forwarded addresses that nobody is trusted to write, over all routes of a limiter', async () => {
    const { warnings, ask, limiter, onWarning } = appWith();
    const other = appWith({ limiter, onWarning });
    for (const one of [ask, other.ask, ask]) expect(await one('10.0.0.1', { 'x-forwarded-for': '9.9.9.9' })).toBe(200);
    expect(warnings).toEqual([expect.stringContaining('no proxy is trusted')]);
    expect(warnings[0]).not.toMatch(/9\.9\.9\.9|10\.0\.0\.1/);
  });

  it('trust for everybody, when it is made', () => {
    for (const everybody of ['0.0.0.0/0', '::/0']) {
      const { warnings } = appWith({ trustProxies: ['10.0.0.0/8', everybody] });
      expect(warnings).toEqual([expect.stringContaining('trusts every address')]);
    }
    expect(appWith({ trustProxies: ['10.0.0.0/8'] }).warnings).toEqual([]);
  });

  it('every client with the same private address, once a thousand requests of different programs say so', async () => {
    const { warnings, ask } = appWith();
    for (let i = 0; i < 999; i += 1) await ask('10.0.0.1', { 'user-agent': `program ${i % 2}` });
    expect(warnings).toEqual([]);
    for (let i = 0; i < 3; i += 1) await ask('10.0.0.1');
    expect(warnings).toEqual([expect.stringContaining('one private address')]);
  });

  it('but not one program alone, a public address, or more than one client', async () => {
    const [alone, open, two] = [appWith(), appWith(), appWith()];
    await two.ask('10.0.0.2');
    for (let i = 0; i < 1100; i += 1) {
      const headers = { 'user-agent': `program ${i % 2}` };
      await alone.ask('10.0.0.1', { 'user-agent': 'load generator' });
      await open.ask('9.9.9.9', headers);
      await two.ask('10.0.0.1', headers);
    }
    expect([...alone.warnings, ...open.warnings, ...two.warnings]).toEqual([]);
  });

  it('forwarded addresses that come only later, when one request of 64 is looked at', async () => {
    const { warnings, ask } = appWith();
    for (let i = 0; i < 1000; i += 1) await ask('10.0.0.1');
    for (let i = 0; i < 64; i += 1) await ask('10.0.0.1', { 'x-forwarded-for': '9.9.9.9' });
    expect(warnings).toEqual([expect.stringContaining('no proxy is trusted')]);
  });

  it('a limiter made inside a handler, which has full budgets each time', async () => {
    const warnings: string[] = [];
    const app = new Hono()
      .use((c, next) =>
        rateLimit({ limiter: made(), rule: 'a', key: 'k', onWarning: (message) => warnings.push(message) })(c as never, next),
      )
      .get('/', (c) => c.text('ok'));
    for (let i = 0; i < 300; i += 1) await app.request('/');
    expect(warnings).toEqual([expect.stringContaining('made inside a handler')]);
  });

  it('as Node’s own warning if nobody listens', async () => {
    const emit = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    rateLimit({ limiter: made(), rule: 'a', trustProxies: ['0.0.0.0/0'] });
    expect(emit).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('trusts every address'), {
      type: 'HeadgateWarning',
      code: 'HEADGATE_MIDDLEWARE',
    });
    emit.mockRestore();
  });
});
