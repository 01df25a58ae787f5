import type { Limiter } from '../limiter-types.js';

/** A key that is held back, until it is. */
export interface Held {
  readonly limiter: Limiter;
  readonly rule: string;
  readonly key: string;
}

/** Answers of one key that come together are looked at in turn: the longest hold counts. Those under way, by budget. */
const underWay = new Map<string, Promise<void>>();

async function lengthen({ limiter, rule, key }: Held, ms: number): Promise<void> {
  // A ban that is longer stays, whoever it is by.
  const { reason, resetAfterMs } = await limiter.peek(rule, key);
  if (reason !== 'banned' || resetAfterMs < ms) await limiter.ban(rule, key, ms);
}

/**
 * Bans a key for a while, if it is not banned for longer: so it is held back in every process that shares the store. Never rejects: where the
 * store is away the ban is known here, and a rule without any limit has nothing to ban.
 */
export async function hold(held: Held, ms: number): Promise<void> {
  const id = `${held.rule}\n${held.key}`;
  const mine = (underWay.get(id) ?? Promise.resolve()).then(() => lengthen(held, ms)).catch(() => undefined);
  underWay.set(id, mine);
  await mine;
  if (underWay.get(id) === mine) underWay.delete(id);
}
