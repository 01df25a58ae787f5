import { fixedWindow, quota, tokenBucket, type CountedLimit } from '../../src/limit.js';
import type { LocalMode } from '../../src/mode.js';
import type { Random } from './random.js';

/** One key with its rule, and who asks for it how often. */
export interface KeySpec {
  readonly name: string;
  readonly limit: CountedLimit;
  /** Undefined: exact. */
  readonly mode: LocalMode | undefined;
  /** Processes that ask, by number. */
  readonly users: readonly number[];
  /** The part of the first of them. */
  readonly skew: number;
  /** Checks in a second, over all, while any come. */
  readonly perSecond: number;
  readonly mostCost: number;
  /** Checks come for so long and then pause for as long, in microseconds; 0: always. */
  readonly burstUs: number;
  /** Asked in a group with this one. */
  readonly with?: KeySpec;
}

/** Keys of every kind that can be leased or synced, some hot, some scarce, some used by many and some by one. */
export function keysFor(random: Random, processes: number): KeySpec[] {
  const users = (least: number, most: number): number[] =>
    Array.from({ length: random.between(least, most) }, () => random.between(0, processes - 1));
  const everyone = Array.from({ length: processes }, (_, i) => i);
  const burst = (): number => (random.chance(0.5) ? 0 : random.between(20_000, 300_000));
  const window = (limit: number, ms: number, from: 'epoch' | 'first-request' = 'epoch') => fixedWindow({ limit, window: `${ms}ms`, from });

  const key = (name: string, spec: Partial<KeySpec> & Pick<KeySpec, 'limit' | 'mode' | 'users'>): KeySpec => ({
    name,
    skew: 0,
    perSecond: 200,
    mostCost: random.pick([1, 1, 3, 5]),
    burstUs: burst(),
    ...spec,
  });
  /** At most a twentieth of a window or a bucket's time to full, as rules are held to. */
  const sync = (ms: number): LocalMode => ({ syncUs: random.pick([1, 0.5, 0.25]) * ms * 50 });
  const synced = (name: string, of: readonly number[], spec: Partial<KeySpec> = {}): KeySpec => {
    const ms = random.pick([2000, 3000, 4000]);
    const limit = window(random.between(10, 400), ms, random.pick(['epoch', 'epoch', 'first-request'] as const));
    return key(name, { limit, mode: sync(ms), users: of, ...spec });
  };
  const bucket = (capacity: number, ms: number) => tokenBucket({ capacity, refill: `${capacity}/${ms}ms` });
  const fillMs = random.pick([2000, 4000]);

  // Both scarce: what the exact one refuses goes back to the leased one, also across the end of a window.
  const exact = key('exact', { limit: window(random.between(20, 150), 1000), mode: undefined, users: [0] });
  return [
    key('leased-by-all', { limit: window(random.between(100, 1000), 1000), mode: 'lease', users: everyone, perSecond: 250 }),
    key('leased-by-few', { limit: window(random.between(20, 400), random.pick([1000, 2000])), mode: 'lease', users: users(1, 6) }),
    key('leased-by-one-mostly', { limit: window(random.between(50, 500), 1500), mode: 'lease', users: users(30, 60), skew: 0.9 }),
    key('leased-scarce', { limit: window(random.between(1, 6), 1000), mode: 'lease', users: users(5, 30), perSecond: 60 }),
    key('leased-from-first', { limit: window(random.between(20, 300), 700, 'first-request'), mode: 'lease', users: users(2, 30) }),
    key('leased-when-hot', { limit: window(random.between(100, 500), 1000), mode: 'auto', users: users(4, 10), skew: 0.8, perSecond: 300 }),
    key('leased-quota', { limit: quota({ limit: random.between(50, 1500), period: 'hour' }), mode: 'lease', users: users(3, 40) }),
    key('leased-bucket', { limit: bucket(random.between(20, 300), 2000), mode: 'lease', users: users(2, 20) }),
    key('leased-bucket-by-all', { limit: bucket(random.between(50, 400), 1000), mode: 'lease', users: everyone, perSecond: 150 }),
    key('leased-in-group', {
      limit: window(random.between(5, 60), random.pick([200, 300, 500])),
      mode: random.pick(['lease', 'auto'] as const),
      users: users(1, 5),
      perSecond: 500,
      with: exact,
    }),
    synced('synced-by-few', users(1, 3)),
    synced('synced-by-some', users(4, 9), { perSecond: 300 }),
    synced('synced-by-many', users(10, 25), { perSecond: 400 }),
    synced('synced-by-one-mostly', users(5, 15), { skew: 0.9 }),
    key('synced-bucket', { limit: bucket(random.between(50, 400), fillMs), mode: sync(fillMs), users: users(1, 10), perSecond: 300 }),
  ];
}
