import { afterEach } from 'vitest';
import { createLimiter, tokenBucket } from '../../src/index.js';
import type { Decision, LimiterOptions, RuleOptions } from '../../src/index.js';
import { fakeClock } from '../../src/testing/index.js';
import { faultyStore } from './faulty-store.js';
import { turn } from './limiters.js';

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** A limiter whose store answers at once, by a clock that stands until it is told. */
export function overLeases<const Name extends string>(rules: Record<Name, RuleOptions>, options: Partial<LimiterOptions<Name>> = {}) {
  const clock = fakeClock();
  const faulty = faultyStore(clock);
  const settings = { clock, deadline: '50ms', fleetSize: 1, rules, onEvent: () => undefined, ...options } as const;
  const another = () => {
    const limiter = createLimiter<Name>({ store: faulty.store, ...settings });
    open.push(() => limiter.close());
    return limiter;
  };
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms * 1000);
    await turn();
  };
  return { limiter: another(), another, faulty, clock, advance, asked: () => faulty.asked().length };
}

/** Asks once each millisecond. */
export async function steadily(ms: number, { check, advance }: { check: () => Promise<Decision>; advance: (ms: number) => Promise<void> }) {
  const decisions: Decision[] = [];
  for (let i = 0; i < ms; i += 1) {
    decisions.push(await check());
    await advance(1);
  }
  return decisions;
}

export const allowed = (decisions: readonly Decision[]): number => decisions.filter((decision) => decision.allowed).length;
export const bucket = (capacity: number, refill: `${number}/s`): RuleOptions => ({
  limit: tokenBucket({ capacity, refill }),
  mode: 'lease',
});
