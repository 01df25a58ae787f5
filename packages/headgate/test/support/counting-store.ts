import { layersOver } from '../../src/layers/index.js';
import { memoryStore } from '../../src/stores/memory.js';
import type { MemoryStoreOptions } from '../../src/stores/memory.js';
import type { Store } from '../../src/stores/store.js';

/** A store in memory that counts what it is asked. It does not say that it is local, so the deadline stands before it as before Redis. */
export function countingStore(options?: MemoryStoreOptions): Store & { readonly calls: string[] } {
  const inner = memoryStore(options);
  const calls: string[] = [];
  const counted = <Args extends unknown[], Reply>(name: string, verb: (...args: Args) => Reply) => {
    return (...args: Args): Reply => {
      calls.push(name);
      return verb(...args);
    };
  };
  return {
    layers: layersOver,
    calls,
    decide: counted('decide', inner.decide),
    giveBack: counted('giveBack', inner.giveBack),
    claim: counted('claim', inner.claim),
    extend: counted('extend', inner.extend),
    reset: counted('reset', inner.reset),
    ban: counted('ban', inner.ban),
    unban: counted('unban', inner.unban),
    ping: counted('ping', inner.ping),
    close: counted('close', inner.close),
  };
}
