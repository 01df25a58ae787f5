/**
 * For those who write a store, or test with limits: the cases every store passes (for any test runner), their vectors as
 * data, and a clock that stands until it is told.
 */
import { attemptCases } from './attempt-cases.js';
import { countingCases } from './counting-cases.js';
import type { StoreCase } from './harness.js';
import { undoingCases } from './undoing-cases.js';
import { vectorCases } from './vectors.js';

export { fakeClock, type FakeClock } from './fake-clock.js';
export type { StoreCase, StoreHarness } from './harness.js';

/**
 * What every store does. Run each on a store of its own, without counters.
 *
 * @example
 * ```ts
 * import { memoryStore } from 'headgate';
 * import { fakeClock, storeCases } from 'headgate/testing';
 *
 * for (const storeCase of storeCases) {
 *   const clock = fakeClock();
 *   await storeCase.run({ store: memoryStore({ clock }), advance: (us) => clock.advance(us) });
 * }
 * ```
 */
export const storeCases: readonly StoreCase[] = [...vectorCases, ...countingCases, ...undoingCases, ...attemptCases];
