import { systemClock, type Clock } from './clock.js';
import { durationUs, type Duration } from './duration.js';
import { ConfigError, rejectUnknownOptions, show } from './errors.js';
import { guard } from './layers/guard.js';
import { makeLimiter, makeRules } from './limiter.js';
import type { Limiter } from './limiter-types.js';
import type { RuleOptions } from './rule.js';
import { memoryStore } from './stores/memory.js';
import type { Store } from './stores/store.js';

/** Options of {@link createLimiter}. */
export interface LimiterOptions<Name extends string> {
  /** Where the counters are: `memoryStore()` by default, or `redisStore({ client })`. */
  readonly store?: Store;
  readonly rules: Readonly<Record<Name, RuleOptions>>;
  /** By when every decision is answered, whatever the store does: 1 ms to 1 minute, 10 ms by default. Not for the memory store. */
  readonly deadline?: Duration;
  /** Processes that share the store: while it is away, each decides by one part of so many. 1 by default. */
  readonly fleetSize?: number;
  /** For tests: time as the limiter sees it (waiting, and deciding without the store). */
  readonly clock?: Clock;
}

const longestDeadlineUs = 60_000_000;

function checkStore(store: unknown): Store {
  if (typeof store === 'object' && store !== null && typeof (store as Store).decide === 'function') return store as Store;
  throw new ConfigError('HEADGATE_BAD_OPTION', `createLimiter.store: expected memoryStore() or redisStore({ client }); got ${show(store)}`);
}

/**
 * Makes a limiter: puts the layers around the store. Throws only for wrong options, never because a store is away.
 *
 * @throws ConfigError naming the option, its value and the mend
 * @example
 * ```ts
 * import { createLimiter, fixedWindow, memoryStore, tokenBucket } from 'headgate';
 *
 * const limiter = createLimiter({
 *   store: memoryStore(),
 *   rules: {
 *     search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) },
 *     login: { limit: fixedWindow({ limit: 5, window: '1m' }), whenUnavailable: 'refuse' },
 *   },
 * });
 * const { allowed } = await limiter.check('search', 'key42');
 * ```
 */
export function createLimiter<const Name extends string>(options: LimiterOptions<Name>): Limiter<Name> {
  rejectUnknownOptions('createLimiter', options, ['store', 'rules', 'deadline', 'fleetSize', 'clock']);
  const { deadline = 10, fleetSize = 1, clock = systemClock() } = options;
  const rules = makeRules(options.rules);
  const deadlineUs = durationUs('createLimiter.deadline', deadline);
  if (deadlineUs > longestDeadlineUs) {
    throw new ConfigError('HEADGATE_BAD_OPTION', `createLimiter.deadline: at most 1m; got ${show(deadline)}`);
  }
  if (!Number.isInteger(fleetSize) || fleetSize < 1 || fleetSize > 100_000) {
    throw new ConfigError(
      'HEADGATE_BAD_OPTION',
      `createLimiter.fleetSize: expected a whole number from 1 to 100000; got ${show(fleetSize)}`,
    );
  }
  const store = checkStore(options.store ?? memoryStore());
  const guarded = store.local ? store : guard({ store, deadlineMs: deadlineUs / 1000, fleetSize, clock });
  return makeLimiter<Name>({ store: guarded, clock, stats: { checks: 0, degraded: 0, unreturned: 0 }, closed: false }, rules);
}
