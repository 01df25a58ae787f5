import {
  concurrency,
  ConfigError,
  consecutiveFailures,
  fixedWindow,
  quota,
  slidingLog,
  slidingWindow,
  type CountedLimit,
  type Receipt,
} from 'headgate';
import { z } from 'zod';
import type { Operation } from '../../usecases/store-operations.js';
import { BadRequestError } from './errors.js';

/** As the library counts: ten years in microseconds, units of a limit and of a count. */
const longestUs = 315_576_000_000_000;
const mostUnits = 9_000_000_000;
const mostCounted = 1e14;
const mostAtOnce = 64;

const us = z.int().min(0).max(longestUs);
const units = z.int().min(0).max(mostUnits);
const counted = z.number().min(0).max(mostCounted);
const kinds = ['tokenBucket', 'fixedWindow', 'slidingWindow', 'slidingLog', 'quota', 'concurrency', 'consecutiveFailures'] as const;

const limit = z.discriminatedUnion('kind', [
  z
    .strictObject({
      kind: z.literal('tokenBucket'),
      capacity: units,
      creditUnits: z
        .int()
        .min(1)
        .max(mostUnits * 1e6),
      creditUs: us.min(1),
    })
    .refine(
      ({ capacity, creditUnits, creditUs }) => (capacity * 1e6 * creditUs) / creditUnits <= longestUs,
      'takes over ten years to fill',
    ),
  z.strictObject({ kind: z.literal('fixedWindow'), limit: units, windowUs: us, from: z.enum(['epoch', 'first-request']) }),
  z.strictObject({ kind: z.literal('slidingWindow'), limit: units, windowUs: us }),
  z.strictObject({ kind: z.literal('slidingLog'), limit: units, windowUs: us }),
  z.strictObject({
    ...{ kind: z.literal('quota'), limit: units, period: z.enum(['hour', 'day', 'week', 'month', 'year']) },
    ...{ timeZone: z.string().max(64), billingDay: z.int() },
  }),
  z.strictObject({ kind: z.literal('concurrency'), limit: units, expiresUs: us }),
  z.strictObject({
    ...{ kind: z.literal('consecutiveFailures'), limit: units, free: units, firstWaitUs: us, longestWaitUs: us, forgetUs: us },
  }),
]);

const rule = z.string().min(1).max(128);
/** As long as the library takes it. */
const key = z
  .string()
  .min(1)
  .max(65_536)
  .refine((text) => text.isWellFormed(), 'not well-formed text: a lone surrogate');
const place = z.int().min(0);
const id = z.string().regex(/^[\w-]{1,64}$/, 'expected 1 to 64 letters, digits, "-" or "_"');

const check = z.strictObject({
  ...{ rule, key, limit: place, cost: z.int().min(1).max(mostCounted), least: z.int().min(0).max(mostCounted).optional() },
  ...{ aheadUs: us.optional(), countRefused: z.boolean().optional(), shadow: z.boolean().optional(), holder: id.optional() },
});
const receipt = z.strictObject({
  ...{ rule, key, limit: place, taken: counted, takenAt: z.number().min(0), windowEnd: z.number().min(0).optional() },
  ...{ holder: id.optional(), fill: z.number().min(0).optional() },
});
const target = { rule, key, kinds: z.array(z.enum(kinds)).min(1).max(kinds.length) };
const member = z.string().min(1).max(64);

const operation = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('decide'), checks: z.array(check).min(1).max(mostAtOnce), dry: z.boolean().optional() }),
  z.strictObject({
    ...{ op: z.literal('giveBack'), receipt, units: counted, onceId: id.optional() },
    ...{ forget: z.boolean().optional(), downTo: z.int().min(0).max(mostCounted).optional() },
  }),
  z.strictObject({ op: z.literal('claim'), receipt, onceId: id }),
  z.strictObject({ op: z.literal('extend'), receipt }),
  z.strictObject({ op: z.literal('reset'), ...target }),
  z.strictObject({ op: z.literal('unban'), ...target }),
  z.strictObject({ op: z.literal('ban'), ...target, us: us.min(1) }),
  z.strictObject({ op: z.literal('beat'), member, layout: z.string().max(64), forUs: us }),
  z.strictObject({ op: z.literal('meet'), keys: z.array(z.strictObject({ rule, key })).max(mostAtOnce), member, forUs: us }),
  z.strictObject({ op: z.literal('ping') }),
]);

/** What `remoteStore` sends. Version 1 names limits by their place in a list. */
export const storeBody = z.strictObject({
  v: z.literal(1, 'expected version 1; use a headgate of the same version on both sides'),
  limits: z.array(limit).max(4 * mostAtOnce),
  ops: z
    .array(operation)
    .min(1)
    .max(mostAtOnce)
    .refine(
      (ops) => ops.reduce((sum, op) => sum + (op.op === 'decide' ? op.checks.length : 0), 0) <= mostAtOnce,
      `over ${mostAtOnce} checks`,
    ),
});

type Read = z.infer<typeof storeBody>;

/** Made by the library's own functions, which check what a schema cannot. */
function made(given: Read['limits'][number]): CountedLimit {
  switch (given.kind) {
    case 'tokenBucket':
      return Object.freeze(given);
    case 'fixedWindow':
      return fixedWindow({ limit: given.limit, window: given.windowUs / 1000, from: given.from });
    case 'slidingWindow':
      return slidingWindow({ limit: given.limit, window: given.windowUs / 1000 });
    case 'slidingLog':
      return slidingLog({ limit: given.limit, window: given.windowUs / 1000 });
    case 'quota': {
      const { kind: _, ...options } = given;
      return quota(options);
    }
    case 'concurrency':
      return concurrency({ limit: given.limit, expires: given.expiresUs / 1000 });
    case 'consecutiveFailures': {
      const { limit: most, free, firstWaitUs, longestWaitUs, forgetUs } = given;
      return consecutiveFailures({
        ...{ limit: most, free, firstWait: firstWaitUs / 1000, longestWait: longestWaitUs / 1000, forget: forgetUs / 1000 },
      });
    }
  }
}

/** Limits kept: equal ones are one value, so that checks of several requests travel to Redis by its quickest scripts. */
const mostKept = 1000;
const kept = new Map<string, CountedLimit>();

function limitOf(given: Read['limits'][number], index: number): CountedLimit {
  const text = JSON.stringify(given);
  const known = kept.get(text);
  if (known !== undefined) return known;
  try {
    const limit = made(given);
    if (kept.size >= mostKept) kept.clear();
    kept.set(text, limit);
    return limit;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new BadRequestError([{ pointer: `/limits/${index}`, detail: error.message }]);
  }
}

/** Without what is undefined: an absent option is not one that is undefined. */
const present = <T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as { [K in keyof T]: Exclude<T[K], undefined> };

/** The operations that a body asks for. @throws BadRequestError for a limit that the library would not make */
export function operationsOf({ limits: given, ops }: Read): Operation[] {
  const limits = given.map(limitOf);
  const at = (index: number): CountedLimit => {
    const limit = limits[index];
    if (limit === undefined) throw new BadRequestError([{ pointer: '/limits', detail: `there is no limit ${index}` }]);
    return limit;
  };
  const receiptOf = (read: z.infer<typeof receipt>): Receipt => present({ ...read, limit: at(read.limit), degraded: false });
  return ops.map((one): Operation => {
    switch (one.op) {
      case 'decide': {
        const checks = one.checks.map((read) => present({ ...read, limit: at(read.limit) }));
        return { op: 'decide', group: one.dry === true ? { checks, dry: true } : { checks } };
      }
      case 'giveBack': {
        const { op, receipt: read, ...more } = one;
        return { op, item: present({ ...more, receipt: receiptOf(read) }) };
      }
      case 'claim':
        return { op: one.op, receipt: receiptOf(one.receipt), onceId: one.onceId };
      case 'extend':
        return { op: one.op, receipt: receiptOf(one.receipt) };
      case 'reset':
      case 'unban':
        return { op: one.op, target: { rule: one.rule, key: one.key, kinds: one.kinds } };
      case 'ban':
        return { op: one.op, target: { rule: one.rule, key: one.key, kinds: one.kinds }, us: one.us };
      case 'beat':
        return { op: one.op, beat: { member: one.member, layout: one.layout, forUs: one.forUs } };
      case 'meet':
        return { op: one.op, meeting: { keys: one.keys, member: one.member, forUs: one.forUs } };
      case 'ping':
        return one;
    }
  });
}
