import fc from 'fast-check';
import {
  concurrency,
  ConfigError,
  consecutiveFailures,
  createLimiter,
  fixedWindow,
  memoryStore,
  quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from 'headgate';
import { rateLimit } from 'headgate/fetch';
import { partitionKeys } from 'headgate/http';
import { fakeClock } from 'headgate/testing';
import { parseList } from 'structured-headers';
import { describe, expect, it } from 'vitest';

const printable = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 128,
});
const size = fc.integer({ min: 1, max: 1000 });
const seconds = fc.integer({ min: 1, max: 100_000 });
const limits = fc.oneof(
  fc.tuple(size, size).map(([capacity, perMinute]) => tokenBucket({ capacity, refill: `${perMinute}/m` })),
  fc.tuple(size, seconds).map(([limit, s]) => fixedWindow({ limit, window: `${s}s` })),
  fc.tuple(size, seconds).map(([limit, s]) => slidingWindow({ limit, window: `${s}s` })),
  fc.tuple(size, seconds).map(([limit, s]) => slidingLog({ limit, window: `${s}s` })),
  fc.tuple(size, fc.constantFrom('hour' as const, 'day' as const, 'month' as const)).map(([limit, period]) => quota({ limit, period })),
  size.map((limit) => concurrency({ limit, expires: '5m' })),
  fc.constant(consecutiveFailures()),
);
const keys = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }).filter((key) => key.isWellFormed());
const partitionSecret = 'at least sixteen characters';
const ok = () => new Response('ok');

/** What a client reads of a list: each member's name, and its parameters. */
const read = (field: string | null) =>
  parseList(field ?? '').map(([name, parameters]) => ({
    name,
    ...(Object.fromEntries(parameters as Map<string, unknown>) as Record<string, unknown>),
  }));

describe('fields that a middleware writes', () => {
  it('are read back by a structured-fields parser, whatever rules and keys are called', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.tuple(printable, limits), { minLength: 1, maxLength: 5, selector: ([name]) => name }),
        keys,
        fc.constantFrom('draft-11' as const, 'draft-8' as const),
        async (named, key, headers) => {
          const rules = Object.fromEntries(named.map(([name, limit]) => [name, { limit }]));
          const clock = fakeClock();
          const limiter = createLimiter({ rules, clock, store: memoryStore({ clock }) });
          const checks = Object.keys(rules).map((rule) => ({ rule, key }));
          const { headers: fields } = await rateLimit({ limiter, checks, headers, partitionSecret })(ok)(
            new Request('http://headgate.test'),
          );
          const [policies, states] = [read(fields.get('ratelimit-policy')), read(fields.get('ratelimit'))];
          const partition = [...partitionKeys(partitionSecret)(key)];
          for (const members of [policies, states]) {
            expect(members.map(({ name }) => name)).toEqual(Object.keys(rules));
            for (const { pk } of members as { pk?: ArrayBuffer }[]) expect([...new Uint8Array(pk!)]).toEqual(partition);
          }
          for (const [index, { decision }] of (await peeks(limiter, checks)).entries()) {
            expect(policies[index]).toMatchObject({ q: decision.limit });
            expect(states[index]).toMatchObject({ r: decision.remaining });
            const { t } = states[index] as { t?: number };
            if (t !== undefined) expect(Number.isInteger(t) && t >= 1).toBe(true);
          }
        },
      ),
    );
  });

  it('name rules that a structured field can hold: others are a ConfigError when the limiter is made', () => {
    for (const name of ['', 'grün', 'a\r\nX-Evil: 1', 'tab\t', 'x'.repeat(129)]) {
      expect(() => createLimiter({ rules: { [name]: { limit: fixedWindow({ limit: 1, window: '1m' }) } } })).toThrow(ConfigError);
    }
    const limiter = createLimiter({ rules: { a: { limit: fixedWindow({ limit: 1, window: '1m' }) } } });
    expect(() => rateLimit({ limiter, rule: 'a', quotaUnits: { a: 'bytes\n' } })).toThrow(ConfigError);
  });
});

/** What is left; the clock stands. */
async function peeks(limiter: ReturnType<typeof createLimiter>, checks: readonly { rule: string; key: string }[]) {
  return Promise.all(checks.map(async ({ rule, key }) => ({ decision: await limiter.peek(rule, key) })));
}
