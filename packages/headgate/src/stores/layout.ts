import { createHash } from 'node:crypto';
import type { Store } from './store.js';

/** How keys are spread, as a short text that processes compare: of this shard's name, and all names with their weights. */
export function layoutOf(name: string | undefined, shards: Store['shards']): string {
  if (name === undefined || shards === undefined) return 'one';
  const spread = [name, ...shards.map((shard) => `${shard.name}=${shard.weight}`).sort()].join(',');
  return createHash('sha256').update(spread).digest('base64url').slice(0, 16);
}
