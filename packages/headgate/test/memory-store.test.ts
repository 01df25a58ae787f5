import { describe, expect, it } from 'vitest';
import { tokenBucket } from '../src/index.js';
import { createMemoryStore } from '../src/stores/memory.js';
import { fakeClock } from '../src/testing/index.js';

describe('the memory store of the layers', () => {
  it('lets go of what has expired, also when nothing is added any more; the rest stays', async () => {
    const clock = fakeClock();
    const store = createMemoryStore({ clock });
    const limit = tokenBucket({ capacity: 10, refill: '1/s' });
    const check = (key: string, cost: number) => ({ checks: [{ rule: 'api', key, limit, cost }] });
    for (let i = 0; i < 1000; i += 1) store.decideNow(check(`key${i}`, 1));
    store.decideNow(check('busy', 10));
    await store.ban({ rule: 'api', key: 'banned', kinds: ['tokenBucket'] }, 3_600_000_000);
    for (let i = 0; i < 2000; i += 1) store.tidy();
    expect(store.stats().keys).toBe(1002);
    clock.advance(2_000_000);
    for (let i = 0; i < 2000; i += 1) store.tidy();
    expect(store.stats().keys).toBe(2);
    expect(store.decideNow(check('busy', 3)).allowed).toBe(false);
    expect(store.decideNow(check('banned', 1)).outcomes[0]?.reason).toBe('banned');
  });
});
