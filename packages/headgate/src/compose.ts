import { createRequire } from 'node:module';
import { tellEvent } from './channels.js';
import { systemClock, type Clock } from './clock.js';
import { durationUs, type Duration } from './duration.js';
import { ConfigError, rejectUnknownOptions, show } from './errors.js';
import { warn, type OnEvent } from './events.js';
import type { Layered, LayersOver } from './layered.js';
import { makeLimiter, makeRules } from './limiter.js';
import type { Limiter } from './limiter-types.js';
import type { RuleOptions } from './rule.js';
import { memoryStore } from './stores/memory.js';
import type { Store } from './stores/store.js';

/** Options of {@link createLimiter}. */
export interface LimiterOptions<Name extends string, Plan extends string = string> {
  /** Where the counters are: `memoryStore()` by default, or `redisStore({ client })`. */
  readonly store?: Store;
  readonly rules: Readonly<Record<Name, RuleOptions<Plan>>>;
  /** By when every decision is answered, whatever the store does: 1 ms to 1 minute, 10 ms by default. Not for the memory store. */
  readonly deadline?: Duration;
  /**
   * Processes that share the store: while it is away, each decides by one part of so many. They are counted by heartbeats; this is
   * what is assumed until the store has told, 1 with a warning by default.
   */
  readonly fleetSize?: number;
  /**
   * The short memory of who is refused: a refused key is refused here for at most a second without asking the store. `max`: keys
   * at once, 0 (none) to 10,000,000, 100,000 by default. Not for the memory store.
   */
  readonly notes?: { readonly max?: number };
  /**
   * Rules that count locally (`mode`). `max`: keys at once, 0 (then all are exact) to 10,000,000, 100,000 by default; those beyond it are
   * exact. Not for the memory store.
   */
  readonly leases?: { readonly max?: number };
  /** Told once for each change of state: a store that is away or back, a fleet that is unknown. By default `process.emitWarning`. */
  readonly onEvent?: OnEvent;
  /** For tests: time as the limiter sees it (waiting, and deciding without the store). */
  readonly clock?: Clock;
}

const longestDeadlineUs = 60_000_000;

function checkStore(store: unknown): Store {
  if (typeof store === 'object' && store !== null && typeof (store as Store).decide === 'function') return store as Store;
  throw new ConfigError('HEADGATE_BAD_OPTION', `createLimiter.store: expected memoryStore() or redisStore({ client }); got ${show(store)}`);
}

/**
 * The layers for a store that does not bring them along: one that a user wrote. Loaded only then, by what Node resolves at run time, so that
 * a bundle of a program that counts in memory has none of them.
 */
function usualLayers(): LayersOver {
  try {
    return (createRequire(import.meta.url)('headgate/layers') as { readonly layersOver: LayersOver }).layersOver;
  } catch {
    throw new ConfigError(
      'HEADGATE_BAD_OPTION',
      'createLimiter.store: what stands before a store outside this process cannot be loaded here, as in a bundle; give the store layers: layersOver, of "headgate/layers"',
    );
  }
}

function readDeadline(deadline: Duration = 10): number {
  const us = durationUs('createLimiter.deadline', deadline);
  if (us > longestDeadlineUs) throw new ConfigError('HEADGATE_BAD_OPTION', `createLimiter.deadline: at most 1m; got ${show(deadline)}`);
  return us / 1000;
}

function readWhole(name: string, value: unknown, [least, most]: readonly [number, number]): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new ConfigError(
    'HEADGATE_BAD_OPTION',
    `createLimiter.${name}: expected a whole number from ${least} to ${most}; got ${show(value)}`,
  );
}

const readFleetSize = (size: unknown): number | undefined => (size === undefined ? undefined : readWhole('fleetSize', size, [1, 100_000]));

function readMax(name: 'notes' | 'leases', option: unknown): number {
  if (option === undefined) return 100_000;
  rejectUnknownOptions(`createLimiter.${name}`, option, ['max']);
  const { max = 100_000 } = option as { max?: unknown };
  return readWhole(`${name}.max`, max, [0, 1e7]);
}

/** What a limiter tells of layers that are not there. */
const noLayers = Object.freeze({
  noted: 0,
  notes: 0,
  notesDropped: 0,
  decidedLocally: 0,
  localKeys: 0,
  localDropped: 0,
  owing: 0,
  uncharged: 0,
  missed: Object.freeze({ late: 0, failed: 0, unasked: 0 }),
  syncLagMs: 0,
  fleet: 1,
  unavailable: [],
});

/** A listener that throws must not become a decision that fails. */
function quietly(onEvent: OnEvent): OnEvent {
  const report = (error: unknown): void => process.emitWarning(`onEvent threw: ${String(error)}`, { type: 'HeadgateWarning' });
  return (event) => {
    tellEvent(event);
    try {
      // An async listener is a listener too.
      const said: unknown = onEvent(event);
      if (said instanceof Promise) said.catch(report);
    } catch (error) {
      report(error);
    }
  };
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
export function createLimiter<const Name extends string, const Plan extends string = string>(
  options: LimiterOptions<Name, Plan>,
): Limiter<Name, Plan> {
  rejectUnknownOptions('createLimiter', options, ['store', 'rules', 'deadline', 'fleetSize', 'notes', 'leases', 'onEvent', 'clock']);
  const { clock = systemClock(), onEvent = warn, deadline, fleetSize, notes, leases } = options;
  if (typeof onEvent !== 'function') {
    throw new ConfigError('HEADGATE_BAD_OPTION', `createLimiter.onEvent: expected a function of one event; got ${show(onEvent)}`);
  }
  const settings = {
    deadlineMs: readDeadline(deadline),
    fleetSize: readFleetSize(fleetSize),
    mostNotes: readMax('notes', notes),
    mostLocal: readMax('leases', leases),
  };
  const rules = makeRules(options.rules);
  const store = checkStore(options.store ?? memoryStore());
  const counts = { checks: 0, degraded: 0, unreturned: 0 };
  const onLost = (): void => void (counts.unreturned += 1);
  const bare: Layered = { store, gauges: () => noLayers, onRules: () => undefined };
  const layers = store.local ? undefined : (store.layers ?? usualLayers());
  const layered = layers?.({ store, ...settings, clock, onEvent: quietly(onEvent), onLost }) ?? bare;
  return makeLimiter<Name>({ ...layered, clock, counts, closed: false }, rules);
}
