import { rejectUnknownOptions, show } from '../errors.js';
import {
  ConfigError,
  createLimiter,
  fixedWindow,
  StoreError,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type RuleOptions,
} from '../index.js';

/** What express-rate-limit tells a store of its own options, as far as this one reads them. */
export interface ExpressRateLimitSettings {
  readonly windowMs: number;
  /** A number, or a function of the request. */
  readonly limit: unknown;
  readonly skipFailedRequests?: boolean;
  readonly skipSuccessfulRequests?: boolean;
}

/** A key's hits in its window, and when that ends. */
export interface Hits {
  readonly totalHits: number;
  readonly resetTime: Date;
}

/** The `Store` of express-rate-limit 8. It has no `resetAll`: a shared store is not searched for keys. */
export interface ExpressRateLimitStore {
  readonly prefix: string;
  readonly localKeys: boolean;
  init(settings: ExpressRateLimitSettings): void;
  get(key: string): Promise<Hits | undefined>;
  increment(key: string): Promise<Hits>;
  decrement(key: string): Promise<void>;
  resetKey(key: string): Promise<void>;
  /** Closes what the limiter opened; the user's own client stays open. */
  shutdown(): Promise<void>;
}

/** Options of {@link headgateStore}: how to count, and all of `createLimiter`'s but the rules. */
export interface HeadgateStoreOptions extends Omit<LimiterOptions<string>, 'rules'>, Pick<RuleOptions, 'mode' | 'whenUnavailable'> {
  /** Whose counters: another name for each `rateLimit()` that counts apart. `'express-rate-limit'` by default. */
  readonly name?: string;
}

const known = ['name', 'mode', 'whenUnavailable', 'store', 'deadline', 'fleetSize', 'notes', 'leases', 'onEvent', 'clock'];
const mostUnits = 9_000_000_000;
const mostHits = 100_000;

/** The rule that counts as the middleware's own options say. */
interface Counting {
  readonly limiter: Limiter;
  readonly windowMs: number;
  /** Every hit counts, and the middleware alone decides: where it takes hits back, or has a limit for each request. */
  readonly countsAll: boolean;
}

function counting(name: string, options: Omit<HeadgateStoreOptions, 'name'>, settings: ExpressRateLimitSettings): Counting {
  const { mode, whenUnavailable, ...rest } = options;
  const { windowMs, limit, skipFailedRequests, skipSuccessfulRequests } = settings;
  const given = { ...(mode === undefined ? undefined : { mode }), ...(whenUnavailable === undefined ? undefined : { whenUnavailable }) };
  const window = { window: windowMs, from: 'first-request' } as const;
  const isWhole = typeof limit === 'number' && Number.isInteger(limit) && limit >= 0 && limit <= mostUnits;
  if (isWhole && skipFailedRequests !== true && skipSuccessfulRequests !== true) {
    const rule = { limit: fixedWindow({ limit, ...window }), ...given };
    return { limiter: createLimiter({ ...rest, rules: { [name]: rule } }), windowMs, countsAll: false };
  }
  for (const [option, value] of Object.entries(given)) {
    throw new ConfigError(
      'HEADGATE_BAD_OPTION',
      `headgateStore.${option}: got ${show(value)}, which needs a limit that is a number, without skipFailedRequests and skipSuccessfulRequests; leave it out, or use "headgate/express", whose countWhen and plans do the same`,
    );
  }
  // No process's share of a limit is known, so there is nothing to decide by while the store is away.
  const rule = { limit: fixedWindow({ limit: mostUnits, ...window }), whenUnavailable: 'refuse' } as const;
  return { limiter: createLimiter({ ...rest, rules: { [name]: rule } }), windowMs, countsAll: true };
}

/** The decision, unless there is none: then `passOnStoreError` says what becomes of the request. */
function answered(decision: Decision): Decision {
  if (decision.allowed || decision.reason !== 'store-unavailable') return decision;
  throw Object.assign(new StoreError('headgateStore: the store did not answer'), { status: 503 });
}

function hitsOf({ decidedAt, resetAfterMs }: Decision, totalHits: number, windowMs: number): Hits {
  // A limit of 0 opens no window.
  return { totalHits, resetTime: new Date(decidedAt / 1000 + (resetAfterMs > 0 ? resetAfterMs : windowMs)) };
}

/**
 * A store for express-rate-limit 8 that is exact over all processes which share `store`. Windows begin with a key's first request, as
 * those of its own memory store do. Where its `limit` is a number and no requests are skipped afterwards, the limit is a Headgate rule: it
 * holds by `mode` and `whenUnavailable`, and refused keys are noted. Otherwise each hit is counted, and while the store is away `increment`
 * rejects (503), unless `passOnStoreError` lets requests pass.
 *
 * @throws ConfigError naming the option; what the middleware's own options make impossible is thrown by `init` and by each `increment`
 * @example
 * ```ts
 * import { rateLimit } from 'express-rate-limit';
 * import { headgateStore } from 'headgate/express-rate-limit-store';
 * import { redisStore } from 'headgate/redis';
 * import { Redis } from 'ioredis';
 *
 * const store = redisStore({ client: new Redis() });
 * export const limited = rateLimit({ windowMs: 60_000, limit: 100, store: headgateStore({ store }) });
 * ```
 */
export function headgateStore(options: HeadgateStoreOptions = {}): ExpressRateLimitStore {
  rejectUnknownOptions('headgateStore', options, known);
  const { name = 'express-rate-limit', ...rest } = options;
  let counts: Counting | undefined;
  let fault: unknown = new ConfigError('HEADGATE_BAD_OPTION', 'headgateStore: not in use yet; give it to rateLimit() as its store');
  const lastHits = new Map<string, Decision>();

  function ready(): Counting {
    if (counts === undefined || fault !== undefined) throw fault;
    return counts;
  }

  /** So that a hit can be taken back: all hits of a window are one unit each, and the receipt of any gives one back. */
  function remember(key: string, decision: Decision): void {
    lastHits.delete(key);
    lastHits.set(key, decision);
    if (lastHits.size <= mostHits) return;
    const [oldest = key] = lastHits.keys();
    lastHits.delete(oldest);
  }

  return {
    prefix: name,
    localKeys: options.store?.local ?? true,

    init(settings) {
      // What is thrown here is only logged: with it kept, no request passes by another's numbers.
      try {
        if (counts !== undefined) {
          throw new ConfigError(
            'HEADGATE_BAD_OPTION',
            'headgateStore: it has a rateLimit() already; make another store, with another name',
          );
        }
        counts = counting(name, rest, settings);
        fault = undefined;
      } catch (error) {
        fault = error;
        throw error;
      }
    },

    async get(key) {
      const { limiter, windowMs } = ready();
      const decision = answered(await limiter.peek(name, key));
      return decision.limit === decision.remaining ? undefined : hitsOf(decision, decision.limit - decision.remaining, windowMs);
    },

    async increment(key) {
      const { limiter, windowMs, countsAll } = ready();
      const decision = answered(await limiter.check(name, key));
      if (countsAll) remember(key, decision);
      const { allowed, limit, remaining } = decision;
      return hitsOf(decision, allowed ? Math.max(1, limit - remaining) : limit + 1, windowMs);
    },

    async decrement(key) {
      const { limiter } = ready();
      const hit = lastHits.get(key);
      const receipt = hit && limiter.receipt(hit);
      if (receipt !== undefined) await limiter.refund({ ...receipt, onceId: crypto.randomUUID() });
    },

    async resetKey(key) {
      await ready().limiter.reset(name, key);
    },

    async shutdown() {
      await counts?.limiter.close();
    },
  };
}
