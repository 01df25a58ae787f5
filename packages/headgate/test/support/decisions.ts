import type { Decision } from '../../src/decision.js';

/** A decision as a limiter makes it; for fields that only look at numbers. */
export const decision = (given: Partial<Decision> = {}): Decision => ({
  allowed: true,
  rule: 'search',
  key: 'key42',
  cost: 1,
  limit: 20,
  remaining: 19,
  retryAfterMs: 0,
  resetAfterMs: 500,
  reason: 'ok',
  source: 'store',
  degraded: false,
  shadow: false,
  wouldAllow: true,
  decidedAt: 0,
  ...given,
});

export const refused = (given: Partial<Decision> = {}): Decision =>
  decision({ allowed: false, wouldAllow: false, remaining: 0, retryAfterMs: 500, resetAfterMs: 10_000, reason: 'limited', ...given });
