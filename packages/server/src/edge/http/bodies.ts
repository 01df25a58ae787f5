import type { Decision } from 'headgate';
import { z } from 'zod';

/** So long that no sane key is longer, and so short that the id of a decision, which holds the key, fits into a body. */
const longestKey = 4096;
const mostUnits = 9_000_000_000;

export const wellFormed = (schema: z.ZodString) =>
  schema.refine((text) => text.isWellFormed(), { error: 'not well-formed text: a lone surrogate' });

/** A whole number in a query. Only digits: `Number('')` is 0, and would answer a question that nobody asked. */
export const wholeQuery = (least: number, most: number) =>
  z.preprocess(
    (text) => (typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : text),
    z
      .int({ error: `expected a whole number from ${least} to ${most}, in digits` })
      .min(least)
      .max(most),
  );

export const planField = z.string().max(128).optional().describe('What the customer pays for; chooses the limit under `plans`.');

const check = z.strictObject({
  rule: z.string().min(1).max(128).describe('The name of a rule.'),
  key: wellFormed(z.string().min(1, 'a key is not empty; name a key of its own for clients that have none').max(longestKey)).describe(
    'Whose budget it is.',
  ),
  cost: z.int().min(1).max(mostUnits).optional().describe('Units; 1 if not said.'),
  plan: planField,
});

export const singleBody = check;
export const groupBody = z.strictObject({ checks: z.array(check).min(1).max(32).describe('Decided together: all or nothing.') });

const id = z.string().min(1).describe('The `id` of a decision, as it came. Any server with the same secret takes it back.');
export const idBody = z.strictObject({ id });
export const outcomeBody = z.strictObject({ id, outcome: z.enum(['success', 'failure']) });
export const settleBody = z.strictObject({ id, actual: z.int().min(0).max(mostUnits).describe('What it really cost, in units.') });

export const nameParam = z.object({
  name: z
    .string()
    .min(1)
    .max(128)
    .meta({ examples: ['search'] }),
});
export const keyParam = z.object({
  key: z
    .string()
    .min(1)
    .max(longestKey)
    .meta({ examples: ['alice'] }),
});

/** What any endpoint may answer that reads a body. */
export const bodyProblems = [400, 413, 415];

/** Header fields that tell of limits (draft-ietf-httpapi-ratelimit-headers). */
export const limitFields = {
  'RateLimit-Policy': 'The limits: quota `q`, window `w` in seconds. Absent if all are unlimited or only observe.',
  RateLimit: 'What is left, `r`, and for how long, `t` in seconds. Absent too if decided without the shared store.',
};

/** A number that JSON has: `Infinity` becomes null. */
export const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

export const reasonField = z.enum(['ok', 'limited', 'cost-above-limit', 'banned', 'store-unavailable']);

export const decisionAnswer = z.object({
  allowed: z.boolean().describe('Whether the request may pass. Always true for a shadow rule.'),
  rule: z.string(),
  key: z.string(),
  cost: z.int(),
  limit: z.number().nullable().describe('Capacity or limit in force; null: unlimited.'),
  remaining: z.number().nullable().describe('Whole units left now.'),
  retryAfterMs: z.number().nullable().describe('0 if allowed; else until this cost can pass if nobody else takes; null if it never can.'),
  resetAfterMs: z.number().nullable().describe('Until the full limit is available again.'),
  reason: reasonField,
  source: z.enum(['store', 'lease', 'sync', 'note', 'fallback']).describe('Where it was decided.'),
  degraded: z.boolean().describe('Whether it was decided without the shared store.'),
  shadow: z.boolean().describe('Whether the rule only observes.'),
  wouldAllow: z.boolean().describe('What a shadow rule would have said.'),
  decidedAt: z.int().describe("Microseconds since 1970, by the store's clock."),
  id: z.string().optional().describe('To take it back by; absent if nothing was taken.'),
});

export const quotaAnswer = z.object({
  rule: z.string(),
  used: z.number(),
  limit: z.number(),
  remaining: z.number(),
  startsAt: z.iso.datetime().describe('When the period in force began.'),
  resetsAt: z.iso.datetime().describe('When the period ends.'),
  degraded: z.boolean().describe('Whether it is told without the shared store.'),
});

/** A decision as JSON. */
export function decisionJson(decision: Decision, of?: string): Record<string, unknown> {
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
    ...(of === undefined ? undefined : { id: of }),
  };
}
