import { z } from 'zod';

const duration = z.union([z.int().min(1), z.string()]).describe('A whole number of milliseconds, or text such as "10s", "1m", "1d".');
const units = z.int().min(0).max(9_000_000_000);
const rate = z.string().describe('Whole units per time: "2/s", "120/m", "5/10s", "1/30d".');

const windowed = z.strictObject({ limit: units, window: duration });

/** A limit by its name, with its numbers. */
const limit = z
  .strictObject({
    tokenBucket: z.strictObject({ capacity: units, refill: rate }).optional(),
    fixedWindow: windowed.extend({ from: z.enum(['epoch', 'first-request']).optional() }).optional(),
    slidingWindow: windowed.optional(),
    slidingLog: windowed.optional(),
    quota: z
      .strictObject({
        limit: units,
        period: z.enum(['hour', 'day', 'week', 'month', 'year']),
        timeZone: z.string().optional(),
        billingDay: z.int().min(1).max(31).optional(),
      })
      .optional(),
    concurrency: z.strictObject({ limit: units, expires: duration }).optional(),
    unlimited: z.strictObject({}).optional(),
  })
  .refine((value) => Object.values(value).filter((options) => options !== undefined).length === 1, {
    message: 'name exactly one limit: tokenBucket, fixedWindow, slidingWindow, slidingLog, quota, concurrency or unlimited',
  })
  .meta({ minProperties: 1, maxProperties: 1 });

const source = z
  .string()
  .regex(/^(bearer|(header|cookie):[!#$%&'*+.^_`|~0-9A-Za-z-]+)$/, 'write header:<name>, cookie:<name> or bearer')
  .describe('Where a part of the request comes from: header:<name>, cookie:<name>, or bearer.');

const name = z.string().regex(/^[\x20-\x7e]{1,128}$/, 'a name is 1 to 128 printable ASCII characters');

const rule = z.strictObject({
  name,
  match: z
    .strictObject({
      method: z.union([z.string(), z.array(z.string()).min(1)]).optional().describe('HEAD counts as GET.'),
      path: z
        .string()
        .regex(/^\//, 'a path begins with /')
        .optional()
        .describe('Segments; ":name" stands for any one segment, a "/*" at the end for everything below.'),
    })
    .optional()
    .describe('Requests to the gate that this rule is for; without it, the rule is only asked for by name.'),
  key: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('Whose budget: ip, apiKey, account, header:<name>, cookie:<name>, or a constant such as "*"; several: all together.'),
  missingKey: z.enum(['refuse', 'skip']).optional(),
  limit,
  plans: z.record(z.string().min(1), limit).optional(),
  whenUnavailable: z.enum(['local', 'allow', 'refuse']).optional(),
  shadow: z.boolean().optional(),
  countRefused: z.boolean().optional(),
});

/** The rules file, version 1. */
export const rulesFileSchema = z.strictObject({
  version: z.literal(1),
  identify: z
    .strictObject({
      apiKey: z.array(source).min(1).optional(),
      account: z.array(source).min(1).optional(),
      trustProxies: z.union([z.int().min(0).max(32), z.array(z.string())]).optional().describe('CIDRs, or how many proxies stand before.'),
    })
    .optional(),
  rules: z.array(rule).min(1, 'at least one rule: an empty file is not "no limits"').max(10_000),
});

export type RulesFile = z.infer<typeof rulesFileSchema>;
export type RuleEntry = z.infer<typeof rule>;
export type LimitEntry = z.infer<typeof limit>;

/** The same as JSON Schema (draft 2020-12), for editors; published as `schema/rules.schema.json`. */
export function rulesJsonSchema(): unknown {
  return { ...z.toJSONSchema(rulesFileSchema), title: 'Headgate rules file' };
}
