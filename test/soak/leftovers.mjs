import { setTimeout as sleep } from 'node:timers/promises';
import { isLong } from './rules.mjs';

/** No key but those of long rules lives longer. */
const goneAfterMs = 6000;
const lookEveryMs = 250;

/** The rule that a key is of; what has none says what it is. */
const ruleOf = (key) => decodeURIComponent(key.slice(key.lastIndexOf('}') + 1).split(':')[1] || key);

async function look(control) {
  const keys = [];
  for await (const some of control.scanStream({ count: 1000 })) keys.push(...some);
  const found = new Map();
  for (const key of keys) {
    const ttlMs = await control.pttl(key);
    if (ttlMs === -2) continue;
    const rule = ruleOf(key);
    const { count = 0, longestMs = 0, forEver = 0 } = found.get(rule) ?? {};
    found.set(rule, { rule, count: count + 1, longestMs: Math.max(longestMs, ttlMs), forEver: forEver + (ttlMs === -1 ? 1 : 0) });
  }
  return [...found.values()];
}

/** Waits until Redis holds nothing but what lasts by its rule, and tells what that is, by rule. */
export async function leftovers({ control }) {
  const began = performance.now();
  for (;;) {
    const found = await look(control);
    const afterMs = performance.now() - began;
    if (found.every(({ rule }) => isLong(rule)) || afterMs > goneAfterMs) return { found, afterMs };
    await sleep(lookEveryMs);
  }
}
