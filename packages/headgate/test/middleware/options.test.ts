import { ConfigError, createLimiter, fixedWindow } from 'headgate';
import { rateLimit } from 'headgate/express';
import { rateLimit as rateLimitNest } from 'headgate/nest';
import { describe, expect, it } from 'vitest';

const limiter = createLimiter({ rules: { login: { limit: fixedWindow({ limit: 5, window: '1m' }) } } });

/** Wrong options, and what the error has to say. */
const wrong: readonly [Record<string, unknown>, string][] = [
  [{ rule: 'login' }, 'rateLimit.limiter: expected what createLimiter() made; got undefined'],
  [{ limiter: {}, rule: 'login' }, 'got an object'],
  [{ limiter }, 'expected either rule or checks'],
  [{ limiter, rule: 'login', checks: [] }, 'expected either rule or checks'],
  [{ limiter, rule: 'logn' }, 'the limiter has no rule "logn"; it has "login"'],
  [{ limiter, checks: [{ rule: 'logn' }] }, 'no rule "logn"'],
  [{ limiter, checks: [null] }, 'no rule undefined'],
  [{ limiter, checks: 'login' }, 'rateLimit.checks: expected a list'],
  [{ limiter, rule: 'login', windowMs: 1 }, 'windowMs'],
  [{ limiter, rule: 'login', key: undefined }, 'rateLimit.key: expected text, or a function of the request'],
  [{ limiter, rule: 'login', key: '' }, 'got ""'],
  [{ limiter, rule: 'login', skip: true }, 'rateLimit.skip: expected a function; got true'],
  [{ limiter, rule: 'login', countWhen: 'never' }, 'rateLimit.countWhen: expected "always"'],
  [{ limiter, rule: 'login', trustProxies: true }, 'got true'],
  [{ limiter, rule: 'login', trustProxies: ['10.0.0.0/33'] }, '"10.0.0.0/33"'],
  [{ limiter, rule: 'login', addressSource: 'cf-connecting-ip' }, '"cf-connecting-ip"'],
  [{ limiter, rule: 'login', ipv6Prefix: 16 }, 'got 16'],
  [{ limiter, rule: 'login', headers: 'draft-12' }, '"draft-12"'],
  [{ limiter, rule: 'login', headers: ['draft-6', 'draft-7'] }, 'at most one draft'],
  [{ limiter, rule: 'login', partitionSecret: 'short' }, 'at least 16 characters (the value is not shown)'],
  [{ limiter, rule: 'login', quotaUnits: { logn: 'content-bytes' } }, 'no rule "logn"'],
  [{ limiter, rule: 'login', onRefused: 'no' }, 'rateLimit.onRefused: expected a function'],
];

describe('wrong options', () => {
  it.each(wrong)('%# are a ConfigError with the value, when the middleware is made', (options, says) => {
    const make = () => rateLimit(options as unknown as Parameters<typeof rateLimit<'login'>>[0]);
    expect(make).toThrow(ConfigError);
    expect(make).toThrow(says);
  });

  it('are also those of other frameworks', () => {
    expect(() => rateLimitNest({ limiter, rule: 'login', onRefused: () => undefined } as never)).toThrow(/onRefused/);
  });
});
