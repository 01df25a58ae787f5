import type { Decision } from 'headgate';
import { z } from 'zod';

/** So long that no sane key is longer, and so short that the id of a decision, which holds the key, fits into a body. */
const longestKey = 4096;

const cost = z.int().min(1).max(9_000_000_000);

const check = z.strictObject({
  rule: z.string().min(1).max(128),
  key: z
    .string()
    .min(1, 'a key is not empty; name a key of its own for clients that have none')
    .max(longestKey)
    .refine((key) => key.isWellFormed(), 'not well-formed text: a lone surrogate'),
  cost: cost.optional(),
  plan: z.string().max(128).optional(),
});

export const singleBody = check;
export const groupBody = z.strictObject({ checks: z.array(check).min(1).max(32) });

const id = z.string().min(1);
export const idBody = z.strictObject({ id });
export const outcomeBody = z.strictObject({ id, outcome: z.enum(['success', 'failure']) });
export const settleBody = z.strictObject({ id, actual: z.int().min(0).max(9_000_000_000) });

/** A number that JSON has: `Infinity` becomes null. */
export const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** A decision as JSON. */
export function decisionJson(decision: Decision, id?: string): Record<string, unknown> {
  const {
    allowed,
    rule,
    key,
    cost,
    limit,
    remaining,
    retryAfterMs,
    resetAfterMs,
    reason,
    source,
    degraded,
    shadow,
    wouldAllow,
    decidedAt,
  } = decision;
  return {
    allowed,
    rule,
    key,
    cost,
    limit: finite(limit),
    remaining: finite(remaining),
    retryAfterMs: finite(retryAfterMs),
    resetAfterMs: finite(resetAfterMs),
    reason,
    source,
    degraded,
    shadow,
    wouldAllow,
    decidedAt,
    ...(id === undefined ? undefined : { id }),
  };
}
