import type { Clock } from './clock.js';
import type { OnEvent } from './events.js';
import type { LimiterStats } from './limiter-types.js';
import type { Rule } from './rule.js';
import type { Store } from './stores/store.js';

/** A store, and how a limiter wants it to be layered. */
export interface LayersOptions {
  readonly store: Store;
  readonly deadlineMs: number;
  /** Undefined if the user did not say. */
  readonly fleetSize: number | undefined;
  readonly mostNotes: number;
  /** Keys counted locally at once, by leases and by sync each. */
  readonly mostLocal: number;
  readonly clock: Clock;
  readonly onEvent: OnEvent;
  readonly onLost: () => void;
}

/** A store with what stands before it, and what that tells. */
export interface Layered {
  readonly store: Store;
  readonly gauges: () => Omit<LimiterStats, 'checks' | 'degraded' | 'unreturned'>;
  readonly onRules: (rules: ReadonlyMap<string, Rule>) => void;
}

/** What puts layers before a store: `layersOver` of `headgate/layers`. */
export type LayersOver = (options: LayersOptions) => Layered;
