import { layersOver } from './layers/stack.js';
import { createRemoteStore, type RemoteStoreOptions } from './stores/remote/remote-store.js';
import type { Store } from './stores/store.js';

export type { RemoteStoreOptions };

/**
 * Counters in a Headgate service, for programs that cannot reach Redis themselves: the same limits, by the service's clock, exact over all that
 * use it. Checks of one turn of the event loop travel together; deadline, breaker, fallback, notes and leases are as with Redis. Making a
 * store never throws because the service is away.
 *
 * @throws ConfigError if an option is wrong
 * @example
 * ```ts
 * import { createLimiter, tokenBucket } from 'headgate';
 * import { remoteStore } from 'headgate/remote';
 *
 * const limiter = createLimiter({
 *   store: remoteStore({ url: 'https://headgate.internal:8080', token: 'what-the-service-knows-as-HEADGATE_STORE_TOKEN' }),
 *   deadline: '50ms',
 *   rules: { search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) } },
 * });
 * ```
 */
export function remoteStore(options: RemoteStoreOptions): Store {
  return { ...createRemoteStore(options), layers: layersOver };
}
