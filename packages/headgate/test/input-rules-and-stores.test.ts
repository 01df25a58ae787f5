import { describe, expect, it } from 'vitest';
import { concurrency, consecutiveFailures, createLimiter, memoryStore, tokenBucket } from '../src/index.js';
import { redisStore } from '../src/redis.js';
import { expectConfigError, limiterToMisuse, thrownBy, wrong } from './support/wrong-input.js';

const { limiter } = limiterToMisuse();

describe('limiters, rules and stores that cannot work', () => {
  const limit = tokenBucket({ capacity: 1, refill: '1/s' });
  const one =
    (rule: unknown, name = 'a') =>
    () =>
      createLimiter({ rules: { [name]: wrong(rule) } });

  it('rules that are no object of rules', async () => {
    for (const [rules, shown] of [
      [undefined, 'undefined'],
      [null, 'null'],
      [[], 'an array of 0'],
      ['a', '"a"'],
    ] as const) {
      await expectConfigError(
        () => createLimiter(wrong({ rules })),
        'HEADGATE_BAD_OPTION',
        'rules: expected an object of rules by name',
        `got ${shown}`,
      );
      await expectConfigError(() => limiter.withRules(wrong(rules)), 'HEADGATE_BAD_OPTION', `got ${shown}`);
    }
    await expectConfigError(one(5), 'HEADGATE_BAD_OPTION', 'rule "a"', 'got 5');
    await expectConfigError(one(null), 'HEADGATE_BAD_OPTION', 'rule "a"', 'got null');
  });

  it('a rule without a limit made by a maker', async () => {
    for (const [bad, shown] of [
      [undefined, 'undefined'],
      [5, '5'],
      [{ capacity: 1, refill: '1/s' }, 'an object'],
      [{ ...limit }, 'an object'],
    ] as const) {
      await expectConfigError(one({ limit: bad }), 'HEADGATE_BAD_LIMIT', 'rule "a".limit', 'such as tokenBucket', `got ${shown}`);
      await expectConfigError(one({ limit, plans: { pro: bad } }), 'HEADGATE_BAD_LIMIT', 'rule "a".plans.pro', `got ${shown}`);
    }
  });

  it('a rule with an option of the wrong kind', async () => {
    await expectConfigError(one({ limit, mode: 'leased' }), 'HEADGATE_BAD_OPTION', 'rule "a".mode', 'got "leased"');
    await expectConfigError(one({ limit, whenUnavailable: 'open' }), 'HEADGATE_BAD_OPTION', 'rule "a".whenUnavailable', 'got "open"');
    await expectConfigError(one({ limit, shadow: 1 }), 'HEADGATE_BAD_OPTION', 'rule "a".shadow', 'got 1');
    await expectConfigError(one({ limit, countRefused: 'yes' }), 'HEADGATE_BAD_OPTION', 'rule "a".countRefused', 'got "yes"');
    await expectConfigError(one({ limit, plans: 5 }), 'HEADGATE_BAD_OPTION', 'rule "a".plans', 'got 5');
    await expectConfigError(
      one({ limit: concurrency({ limit: 1, expires: '1m' }), countRefused: true }),
      'HEADGATE_BAD_RULE',
      'drop the option',
    );
    const plans = { known: consecutiveFailures() };
    await expectConfigError(one({ limit, plans, countRefused: true }), 'HEADGATE_BAD_RULE', 'consecutiveFailures', 'drop the option');
  });

  it('a rule whose name no header can carry', async () => {
    for (const name of ['', 'ü', 'a\nb', 'x'.repeat(129)])
      await expectConfigError(one({ limit }, name), 'HEADGATE_BAD_RULE', 'printable ASCII');
  });

  it('a deadline, a fleet or a store of the wrong kind', async () => {
    const rules = { a: { limit } };
    await expectConfigError(() => createLimiter({ rules, deadline: '61s' }), 'HEADGATE_BAD_OPTION', 'at most 1m', 'got "61s"');
    for (const [fleetSize, shown] of [
      [0, '0'],
      [0.5, '0.5'],
      [Number.NaN, 'NaN'],
      ['3', '"3"'],
      [100_001, '100001'],
    ] as const) {
      await expectConfigError(
        () => createLimiter({ rules, fleetSize: wrong(fleetSize) }),
        'HEADGATE_BAD_OPTION',
        'fleetSize',
        `got ${shown}`,
      );
    }
    for (const [bad, shown] of [
      ['redis://localhost', '"redis://localhost"'],
      [{}, 'an object'],
      [5, '5'],
    ] as const) {
      await expectConfigError(
        () => createLimiter({ rules, store: wrong(bad) }),
        'HEADGATE_BAD_OPTION',
        'redisStore({ client })',
        `got ${shown}`,
      );
    }
    for (const [maxKeys, shown] of [
      [0, '0'],
      [1.5, '1.5'],
      [1e8, '100000000'],
    ] as const) {
      await expectConfigError(() => memoryStore({ maxKeys }), 'HEADGATE_BAD_OPTION', 'memoryStore.maxKeys', `got ${shown}`);
    }
  });

  it('a Redis store with a wrong client, prefix or secret, and the secret is not repeated', async () => {
    await expectConfigError(() => redisStore({ client: undefined }), 'HEADGATE_BAD_CLIENT', 'got undefined', 'pass one of');
    for (const prefix of ['', 'x'.repeat(65), '\ud800', 5]) {
      await expectConfigError(
        () => redisStore({ client: {}, prefix: wrong(prefix) }),
        'HEADGATE_BAD_OPTION',
        'redisStore.prefix',
        '1 to 64 characters',
      );
    }
    await expectConfigError(() => redisStore({ client: {}, onCall: wrong('yes') }), 'HEADGATE_BAD_OPTION', 'redisStore.onCall', 'yes');
    const error = await thrownBy(() => redisStore({ client: {}, keySecret: 'too short' }));
    expect(error).toMatchObject({ code: 'HEADGATE_BAD_OPTION' });
    expect(error.message).toContain('at least 16 characters');
    expect(error.message).not.toContain('too short');
  });
});
