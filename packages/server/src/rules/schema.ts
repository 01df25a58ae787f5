import { z } from 'zod';
import { matchSchema, planSource } from './match-schema.js';

const time = String.raw`(ms|s|m|h|d|w)$`;
const durationShape = 'write a whole number of milliseconds or text such as "10s", "1.5s", "1m", "1d"';
const duration = z
  .union([z.int().min(1), z.string().regex(new RegExp(String.raw`^\d{1,15}(\.\d{1,6})?${time}`), durationShape)], { error: durationShape })
  .describe('A whole number of milliseconds, or text such as "10s", "1m", "1d".');
const units = z.int().min(0).max(9_000_000_000);
const rate = z
  .string()
  .regex(
    new RegExp(String.raw`^\d{1,16}/(\d{1,15}(\.\d{1,6})?)?${time}`),
    'write whole units per time such as "2/s", "120/m", "5/10s", "1/30d"',
  )
  .describe('Whole units per time: "2/s", "120/m", "5/10s", "1/30d".');

const windowed = z.strictObject({ limit: units, window: duration });

const limitKinds = {
  tokenBucket: z.strictObject({ capacity: units, refill: rate }),
  fixedWindow: windowed.extend({ from: z.enum(['epoch', 'first-request']).optional() }),
  slidingWindow: windowed,
  slidingLog: windowed,
  quota: z.strictObject({
    limit: units,
    period: z.enum(['hour', 'day', 'week', 'month', 'year']),
    timeZone: z.string().optional(),
    billingDay: z.int().min(1).max(31).optional(),
  }),
  concurrency: z.strictObject({ limit: units, expires: duration }),
  consecutiveFailures: z.strictObject({
    limit: z.int().min(1).max(100_000).optional().describe('From so many failures in a row on, all are refused; 100 by default.'),
    free: z.int().min(0).max(100_000).optional().describe('Failures that cost no wait; 3 by default.'),
    firstWait: duration
      .optional()
      .describe('The wait after the first failure that is not free, doubled after each one more; "30s" by default.'),
    longestWait: duration.optional().describe('The longest wait; "1h" by default.'),
    forget: duration.optional().describe('After so long without an attempt all is forgotten; "400d" by default.'),
  }),
  unlimited: z.strictObject({}),
};

const namesOf = (value: unknown): string[] => Object.keys(value ?? {});

/** A limit by its name, with its numbers. */
export const limitSchema = z
  .strictObject(limitKinds)
  .partial()
  .refine((value) => namesOf(value).length === 1, {
    error: ({ input }) => `name exactly one limit: ${Object.keys(limitKinds).join(', ')}; got ${namesOf(input).join(' and ') || 'none'}`,
  })
  .meta({ minProperties: 1, maxProperties: 1 });

const source = z
  .string()
  .regex(/^(bearer|(header|cookie):[!#$%&'*+.^_`|~0-9A-Za-z-]+)$/, 'write header:<name>, cookie:<name> or bearer')
  .describe('Where a part of the request comes from: header:<name>, cookie:<name>, or bearer.');

export const nameSchema = z
  .string()
  .regex(/^[\x20-\x7e]{1,128}$/, 'a name is 1 to 128 printable ASCII characters')
  .regex(/^(?!\*$)/, '"*" stands for all rules where one is named; call it something else');

export const keySchema = z
  .array(z.string().min(1))
  .min(1)
  .describe('Whose budget: ip, apiKey, account, header:<name>, cookie:<name>, or a constant such as "*"; several: all together.');

export const ruleSchema = z.strictObject({
  name: nameSchema,
  match: matchSchema.optional(),
  key: keySchema.optional(),
  missingKey: z.enum(['refuse', 'skip']).optional().describe('Of a request without the key: refuse it (default), or skip the rule.'),
  limit: limitSchema,
  plans: z.record(z.string().min(1), limitSchema).optional().describe('Limits by plan; a check without one of these plans gets "limit".'),
  mode: z
    .union([z.enum(['exact', 'lease', 'auto']), z.strictObject({ sync: z.union([z.string(), z.number()]) })])
    .optional()
    .describe(
      'exact (default); lease or { sync: 1s }: count in this process, within the bounds of docs/guarantees.md; auto: leased while hot.',
    ),
  whenUnavailable: z.enum(['local', 'allow', 'refuse']).optional().describe('While the store does not answer; local by default.'),
  shadow: z.boolean().optional().describe('Only observe: refuse nothing.'),
  countRefused: z.boolean().optional().describe('Refused requests take units too.'),
});

export const trustSchema = z
  .union([z.int().min(0).max(32), z.array(z.string())], {
    error: 'write a list of CIDRs such as ["10.0.0.0/8"], or a number of proxies from 0 to 32',
  })
  .describe('CIDRs, or how many proxies stand before this server.');

export const identifySchema = z.strictObject({
  ipv6Prefix: z
    .int()
    .min(32)
    .max(128)
    .optional()
    .describe('Bits of an IPv6 address that tell clients apart: 64 by default; 56 or 48 where customers get so much.'),
  apiKey: z.array(source).min(1).optional(),
  account: z.array(source).min(1).optional(),
  plan: z
    .array(planSource)
    .optional()
    .describe(
      "Fields that tell a request's plan, believed of peers in trustProxies only; none by default. The gateway has to set or remove them.",
    ),
  trustProxies: trustSchema.optional(),
});

const rulesOf = <T extends z.ZodType>(rule: T) => z.array(rule).min(1, 'at least one rule: no rules are not "no limits"').max(10_000);

/** The rules file, version 1. */
export const rulesFileSchema = z.strictObject({
  version: z.literal(1, { error: 'this Headgate reads version 1' }),
  identify: identifySchema.optional(),
  rules: rulesOf(ruleSchema),
});

/** The same around rules that are looked at one by one. */
export const frameSchema = rulesFileSchema.extend({ rules: rulesOf(z.unknown()) });

export type Identify = z.infer<typeof identifySchema>;

/** The same as JSON Schema (draft 2020-12), for editors; published as `schema/rules.schema.json`. */
export function rulesJsonSchema(): unknown {
  return { ...z.toJSONSchema(rulesFileSchema), title: 'Headgate rules file' };
}
