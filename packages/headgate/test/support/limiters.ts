import { createLimiter, fixedWindow, memoryStore, type Decision, type RuleOptions } from '../../src/index.js';
import { fakeClock } from '../../src/testing/index.js';

const second = 1_000_000;
export const perMinute = (limit: number) => fixedWindow({ limit, window: '1m' });

/** A limiter in memory whose time stands until it is told. */
export function withClock<const Name extends string>(rules: Record<Name, RuleOptions>) {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const seconds = async (n: number): Promise<void> => {
    await turn();
    clock.advance(n * second);
    await turn();
  };
  return { limiter: createLimiter<Name>({ store, clock, rules }), store, clock, seconds };
}

/** Whatever is ready to go on has gone on. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** How many of so many checks pass. */
export async function passing(times: number, check: () => Promise<Decision>): Promise<number> {
  let passed = 0;
  for (let i = 0; i < times; i += 1) if ((await check()).allowed) passed += 1;
  return passed;
}
