import type { Limiter } from '../limiter-types.js';

/** A key that is held back, until it is. */
export interface Held {
  readonly limiter: Limiter;
  readonly rule: string;
  readonly key: string;
}

async function lengthen({ limiter, rule, key }: Held, ms: number): Promise<void> {
  try {
    // A ban that is longer stays, whoever it is by.
    const { reason, resetAfterMs } = await limiter.peek(rule, key);
    if (reason !== 'banned' || resetAfterMs < ms) await limiter.ban(rule, key, ms);
  } catch {
    // Where the store is away the ban is known here; a rule without any limit has nothing to ban.
  }
}

/** The hold of a budget that is being made, and the next one: the longest of all answers that came meanwhile. */
interface Line {
  now: Promise<void>;
  next: { ms: number; readonly done: Promise<void> } | undefined;
}

const linesOf = new WeakMap<Limiter, Map<string, Line>>();

/**
 * Bans a key for a while, if it is not banned for longer: so it is held back in every process that shares the store. Answers of one key that come
 * together are looked at together, so that none shortens the hold of another. Never rejects.
 */
export function hold(held: Held, ms: number): Promise<void> {
  const lines = linesOf.get(held.limiter) ?? new Map<string, Line>();
  linesOf.set(held.limiter, lines);
  const id = `${held.rule}\n${held.key}`;
  const forgetIfIdle = (line: Line): void => {
    if (line.next === undefined) lines.delete(id);
  };
  const line = lines.get(id);
  if (line === undefined) {
    const first: Line = { now: lengthen(held, ms).then(() => forgetIfIdle(first)), next: undefined };
    lines.set(id, first);
    return first.now;
  }
  if (line.next !== undefined) {
    line.next.ms = Math.max(line.next.ms, ms);
    return line.next.done;
  }
  const done = line.now.then(async () => {
    const longest = line.next?.ms ?? ms;
    line.now = done;
    line.next = undefined;
    await lengthen(held, longest);
    forgetIfIdle(line);
  });
  line.next = { ms, done };
  return done;
}
