import type { KeySample } from './facts.js';
import type { Node } from './node.js';

const atOnce = '100';
/** SCAN goes by the keys' hashes, so the first thousands are as good as drawn by lot. */
const mostKeys = 3000;
const mostMs = 1000;

/** The plain word that a key begins with, such as `session:`; nothing that could be a secret. */
function beginningOf(key: string): string {
  return /^[A-Za-z][A-Za-z_-]{0,19}:/.exec(key)?.[0] ?? '';
}

/** Counts a sample of keys; `lasting` tells which of ours never expire. */
export function countKeys(keys: readonly string[], own: string, lasting: number): Omit<KeySample, 'complete'> {
  const foreign = keys.filter((key) => !key.startsWith(own));
  const counts = new Map<string, number>();
  for (const beginning of foreign.map(beginningOf)) if (beginning !== '') counts.set(beginning, (counts.get(beginning) ?? 0) + 1);
  const beginnings = [...counts].sort(([, a], [, b]) => b - a).map(([beginning]) => beginning);
  return {
    sampled: keys.length,
    ours: keys.length - foreign.length,
    lasting,
    foreign: foreign.length,
    beginnings: beginnings.slice(0, 3),
  };
}

/** Looks at some keys, in small steps that hold nobody up. */
export async function sampleKeys(node: Node, own: string): Promise<KeySample> {
  const until = performance.now() + mostMs;
  const keys = new Set<string>();
  let lasting = 0;
  let cursor = '0';
  do {
    const [next, page] = (await node.ask('SCAN', cursor, 'COUNT', atOnce)) as [unknown, unknown[]];
    cursor = String(next);
    const fresh = page.map(String).filter((key) => !keys.has(key));
    for (const key of fresh) keys.add(key);
    const ours = fresh.filter((key) => key.startsWith(own));
    const left = await Promise.all(ours.map((key) => node.ask('PTTL', key)));
    lasting += left.filter((ms) => Number(ms) === -1).length;
  } while (cursor !== '0' && keys.size < mostKeys && performance.now() < until);
  return { ...countKeys([...keys], own, lasting), complete: cursor === '0' };
}
