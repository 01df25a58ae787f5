import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { startRedis } from '../../../test/support/redis.js';
import { later, start, type Started } from './support/service.js';

const recipe = readFileSync(new URL('../rules/recipes/login.yaml', import.meta.url), 'utf8');

/** An app that protects its login as docs/recipes/login.md says. */
function app({ post }: Started) {
  const call = async (path: string, body: unknown) => (await post(path, body)).json;
  return {
    async logIn({
      ip,
      account,
      device,
      right,
    }: {
      ip: string;
      account: string;
      device?: string;
      right: boolean;
    }): Promise<string | undefined> {
      const known = device === undefined ? { known: false } : await call('/v1/devices/verify', { account, device });
      const last = known.known
        ? { rule: 'login-device', key: JSON.stringify([account, known.id]) }
        : { rule: 'login-account', key: account };
      const checks = [{ rule: 'login-ip', key: ip }, { rule: 'login-everybody', key: '*' }, last];
      const answer = await call('/v1/check', { checks });
      if (!answer.allowed) return 'refused';
      await call('/v1/outcome', { id: answer.decisions[2].id, outcome: right ? 'success' : 'failure' });
      return right ? ((await call('/v1/devices', { account })).device as string) : 'wrong';
    },
  };
}

describe('the recipe for logins', () => {
  it('holds against guesses from many addresses, and lets the owner in from a known device', async () => {
    const redis = await startRedis();
    later(redis.kill);
    const { logIn } = app(await start({ rules: recipe, redis: `redis://127.0.0.1:${redis.port}`, secret: 'a secret of the test' }));
    const device = await logIn({ ip: '203.0.113.1', account: 'alice', right: true });
    const tries = [];
    for (let i = 0; i < 40; i += 1) tries.push(logIn({ ip: `198.51.100.${i}`, account: 'alice', right: false }));
    const answers = await Promise.all(tries);
    expect(answers.filter((answer) => answer === 'wrong')).toHaveLength(5);
    expect(await logIn({ ip: '203.0.113.9', account: 'alice', right: true })).toBe('refused');
    // The same for an account that does not exist.
    const nobody = await Promise.all(
      Array.from({ length: 40 }, (_, i) => logIn({ ip: `198.51.100.${i}`, account: 'nobody', right: false })),
    );
    expect(nobody.filter((answer) => answer === 'wrong')).toHaveLength(5);
    expect(await logIn({ ip: '203.0.113.1', account: 'alice', ...(device && { device }), right: true })).not.toBe('refused');
    expect(await logIn({ ip: '203.0.113.1', account: 'bob', ...(device && { device }), right: true })).not.toBe('refused');
  });

  it('forgets the failures of an account when its owner logs in', async () => {
    const { logIn } = app(await start({ rules: recipe }));
    for (const right of [false, false, false, false, true]) await logIn({ ip: '203.0.113.1', account: 'alice', right });
    for (let i = 0; i < 5; i += 1) expect(await logIn({ ip: '203.0.113.1', account: 'alice', right: false })).toBe('wrong');
    expect(await logIn({ ip: '203.0.113.1', account: 'alice', right: false })).toBe('refused');
  });
});
