import { createLimiter, memoryStore, tokenBucket, type Store } from 'headgate';
import { layersOver } from 'headgate/layers';
import { describe, expect, it } from 'vitest';

/** A store as a user writes one: no `local`, and it answers as it is told. */
function ownStore(decide: Store['decide']): Store {
  const { giveBack, claim, extend, reset, ban, unban, ping, close } = memoryStore();
  return { decide, giveBack, claim, extend, reset, ban, unban, ping, close };
}

const rules = { a: { limit: tokenBucket({ capacity: 1, refill: '1/h' }), whenUnavailable: 'refuse' } } as const;

describe('a store that a user wrote', () => {
  it.each([
    ['without layers', undefined],
    ['with layers of its own choice', layersOver],
  ])('%s has a deadline and a fallback before it', async (_, layers) => {
    const silent = ownStore(() => new Promise(() => undefined));
    const limiter = createLimiter({ store: { ...silent, ...(layers && { layers }) }, rules, fleetSize: 1, onEvent: () => undefined });
    expect(await limiter.check('a', 'k')).toMatchObject({ allowed: false, reason: 'store-unavailable', degraded: true });
    await limiter.close();
  });

  it('that answers decides', async () => {
    const { decide } = memoryStore();
    const limiter = createLimiter({ store: ownStore(decide), rules, deadline: '1m', fleetSize: 1 });
    expect((await limiter.check('a', 'k')).allowed).toBe(true);
    expect(await limiter.check('a', 'k')).toMatchObject({ allowed: false, source: 'store' });
    await limiter.close();
  });
});
