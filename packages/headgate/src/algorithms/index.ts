import type { CountedLimit } from '../limit.js';
import type { Algorithm } from './algorithm.js';
import { concurrencyAlgorithm } from './concurrency.js';
import { consecutiveFailuresAlgorithm } from './consecutive-failures.js';
import { slidingLogAlgorithm } from './sliding-log.js';
import { slidingWindowAlgorithm } from './sliding-window.js';
import { tokenBucketAlgorithm } from './token-bucket.js';
import { fixedWindowAlgorithm, quotaAlgorithm } from './windows.js';

export type { Algorithm, Ask, Cells, Description, Step, View } from './algorithm.js';

const algorithms = {
  tokenBucket: tokenBucketAlgorithm,
  fixedWindow: fixedWindowAlgorithm,
  slidingWindow: slidingWindowAlgorithm,
  slidingLog: slidingLogAlgorithm,
  quota: quotaAlgorithm,
  concurrency: concurrencyAlgorithm,
  consecutiveFailures: consecutiveFailuresAlgorithm,
};

/** The arithmetic of a kind of limit. The state's type is the algorithm's own business. */
export function algorithmOf(kind: CountedLimit['kind']): Algorithm<CountedLimit, unknown> {
  // Each algorithm is only ever handed limits and states of its own kind; the table keeps the pairing.
  return algorithms[kind];
}
