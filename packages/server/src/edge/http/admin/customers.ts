import { z } from 'zod';
import type { RuleSet } from '../../../rules/compile.js';
import type {
  CustomerPlan,
  Exemption,
  ExemptionsRepository,
  Override,
  OverridesRepository,
  PlansRepository,
  Shadow,
  ShadowsRepository,
} from '../../../rules/exceptions.js';
import { isPlanKnown, strayOverride, strayPlan } from '../../../rules/exceptions-stray.js';
import { InputError } from '../../../rules/inputs.js';
import { limitSchema, nameSchema } from '../../../rules/schema.js';
import { wholeQuery } from '../bodies.js';
import { keyParam, nameParam, route, timeOf, UnknownNameError, type Route } from './route.js';

export interface CustomersOptions {
  readonly plans: PlansRepository;
  readonly overrides: OverridesRepository;
  readonly exemptions: ExemptionsRepository;
  readonly shadows: ShadowsRepository;
  /** Those in force. */
  readonly rules: () => Pick<RuleSet, 'rules' | 'options'>;
}

const until = z.iso.datetime({ offset: true }).nullable().optional().describe('When it ends; without it, never');
const untilAnswer = z.iso.datetime().nullable();
const noted = { by: z.string(), at: z.iso.datetime() };
const millisecondsOf = (text: string | null | undefined): number | null => (text == null ? null : new Date(text).getTime());

/** Times as JSON has them. */
const shown = ({ at, until: end, ...rest }: { readonly at: number; readonly until: number | null }): unknown => ({
  ...rest,
  until: end === null ? null : timeOf(end),
  at: timeOf(at),
});

const list = {
  limit: wholeQuery(1, 1000).default(100),
  after: z.string().max(4096).optional().describe('`next` of the page before'),
};
const next = z.string().nullable().describe('where the next page begins; null: this is the last');

type Names = readonly [string, ...string[]];

/** Where a page begins, as a caller hands it back: the names of the last entry before. */
function namesOf(after: string | undefined, count: number): readonly string[] | undefined {
  if (after === undefined) return undefined;
  let names: unknown;
  try {
    names = JSON.parse(Buffer.from(after, 'base64url').toString());
  } catch {
    // Told below.
  }
  if (Array.isArray(names) && names.length === count && names.every((name) => typeof name === 'string')) return names;
  throw new InputError('after', 'send what the page before says under "next"');
}

/** A full page has a next one, which may be empty. */
function nextOf<T>(page: readonly T[], limit: number, nameIt: (last: T) => Names): string | null {
  const last = page.at(-1);
  return last === undefined || page.length < limit ? null : Buffer.from(JSON.stringify(nameIt(last))).toString('base64url');
}

const warned = z.object({ warnings: z.array(z.string()).describe('What is allowed and may not be meant') });
const overrideParams = z.object({
  rule: z
    .string()
    .min(1)
    .max(128)
    .meta({ examples: ['search'] }),
  key: z
    .string()
    .min(1)
    .max(512)
    .meta({ examples: ['alice'] }),
});
const ofExemption = z.object({
  rule: z
    .union([z.literal('*'), nameSchema])
    .describe('a rule, or * for all')
    .meta({ examples: ['*'] }),
  kind: z.enum(['key', 'cidr']).meta({ examples: ['cidr'] }),
  subject: z
    .string()
    .min(1)
    .max(512)
    .describe('a key, or addresses as 10.0.0.0/8')
    .meta({ examples: ['10.0.0.0/8'] }),
});

const planAnswer = z.object({ customer: z.string(), plan: z.string(), until: untilAnswer, ...noted });
const overrideAnswer = z.object({ rule: z.string(), customer: z.string(), limit: z.unknown(), until: untilAnswer, ...noted });
const exemptionAnswer = ofExemption.extend({ reason: z.string(), until: untilAnswer, ...noted });
const shadowAnswer = z.object({ rule: z.string(), on: z.boolean(), ...noted });

const gone = (was: boolean, what: string): Record<string, never> => {
  if (!was) throw new UnknownNameError(`there is no ${what}`);
  return {};
};

function plansRoutes({ plans, rules }: CustomersOptions): Route[] {
  return [
    route({
      method: 'GET',
      path: '/customers',
      role: 'read',
      summary: 'Plans of customers',
      query: z.object(list),
      answer: z.object({ customers: z.array(planAnswer), next }),
      async run({ query: { limit, after } }) {
        const [customer] = namesOf(after, 1) ?? [];
        const found = await plans.list({ limit, ...(customer === undefined ? undefined : { after: customer }) });
        return {
          body: { customers: found.map((plan: CustomerPlan) => shown(plan)), next: nextOf(found, limit, (last) => [last.customer]) },
        };
      },
    }),
    route({
      method: 'GET',
      path: '/customers/{key}/plan',
      role: 'read',
      summary: 'The plan of a customer',
      params: keyParam,
      answer: planAnswer,
      async run({ params: { key } }) {
        const plan = await plans.of(key);
        if (plan === undefined) throw new UnknownNameError('no plan is stored for this customer');
        return { body: shown(plan) };
      },
    }),
    route({
      method: 'PUT',
      path: '/customers/{key}/plan',
      role: 'operate',
      summary: 'Sets the plan of a customer; units used stay used',
      params: keyParam,
      body: z.strictObject({ plan: z.string().min(1).max(128), until }),
      answer: warned,
      example: { plan: 'pro', until: '2100-01-01T00:00:00Z' },
      async run({ params: { key }, body: { plan, until: end }, who }) {
        await plans.set({ customer: key, plan, until: millisecondsOf(end), by: who });
        return { body: { warnings: isPlanKnown(rules(), plan) ? [] : [strayPlan(plan)] } };
      },
    }),
    route({
      method: 'DELETE',
      path: '/customers/{key}/plan',
      role: 'operate',
      summary: 'Forgets the plan of a customer',
      params: keyParam,
      run: async ({ params: { key }, who }) => gone(await plans.remove({ customer: key, by: who }), 'plan of this customer'),
    }),
  ];
}

function overridesRoutes({ overrides, rules }: CustomersOptions): Route[] {
  return [
    route({
      method: 'GET',
      path: '/overrides',
      role: 'read',
      summary: 'Limits of single customers',
      query: z.object({ ...list, rule: z.string().optional(), customer: z.string().optional() }),
      answer: z.object({ overrides: z.array(overrideAnswer), next }),
      async run({ query: { limit, after, rule, customer } }) {
        const [ofRule = '', ofCustomer = ''] = namesOf(after, 2) ?? [];
        const from = after === undefined ? undefined : { after: { rule: ofRule, customer: ofCustomer } };
        const page = {
          limit,
          ...from,
          ...(rule === undefined ? undefined : { rule }),
          ...(customer === undefined ? undefined : { customer }),
        };
        const found = await overrides.list(page);
        const last = nextOf(found, limit, (one) => [one.rule, one.customer]);
        return { body: { overrides: found.map((override: Override) => shown(override)), next: last } };
      },
    }),
    route({
      method: 'PUT',
      path: '/overrides/{rule}/{key}',
      role: 'operate',
      summary: 'Another limit of a rule for one customer; it goes before that of the plan',
      params: overrideParams,
      body: z.strictObject({ limit: limitSchema, until }),
      answer: warned,
      example: { limit: { tokenBucket: { capacity: 100, refill: '10/s' } } },
      async run({ params: { rule, key }, body: { limit, until: end }, who }) {
        await overrides.set({ rule, customer: key, limit, until: millisecondsOf(end), by: who });
        return { body: { warnings: rules().rules.has(rule) ? [] : [strayOverride(rule)] } };
      },
    }),
    route({
      method: 'DELETE',
      path: '/overrides/{rule}/{key}',
      role: 'operate',
      summary: 'Ends an override',
      params: overrideParams,
      run: async ({ params: { rule, key }, who }) => gone(await overrides.remove({ rule, customer: key, by: who }), 'such override'),
    }),
  ];
}

function exemptionsRoutes(exemptions: ExemptionsRepository): Route[] {
  return [
    route({
      method: 'GET',
      path: '/exemptions',
      role: 'read',
      summary: 'For whom rules do not hold',
      query: z.object(list),
      answer: z.object({ exemptions: z.array(exemptionAnswer), next }),
      async run({ query: { limit, after } }) {
        const [rule = '', kind = '', subject = ''] = namesOf(after, 3) ?? [];
        const from = after === undefined ? undefined : { after: { rule, kind: kind as Exemption['kind'], subject } };
        const found = await exemptions.list({ limit, ...from });
        const last = nextOf(found, limit, (one) => [one.rule, one.kind, one.subject]);
        return { body: { exemptions: found.map((exemption: Exemption) => shown(exemption)), next: last } };
      },
    }),
    route({
      method: 'PUT',
      path: '/exemptions',
      role: 'operate',
      summary: 'Exempts a key, or addresses, from a rule or all',
      body: ofExemption.extend({ reason: z.string().max(1000).default(''), until }).strict(),
      example: { rule: '*', kind: 'cidr', subject: '10.0.0.0/8', reason: 'our own' },
      async run({ body: { until: end, ...exemption }, who }) {
        await exemptions.set({ ...exemption, until: millisecondsOf(end), by: who });
        return {};
      },
    }),
    route({
      method: 'DELETE',
      path: '/exemptions',
      role: 'operate',
      summary: 'Ends an exemption',
      query: ofExemption,
      run: async ({ query, who }) => gone(await exemptions.remove({ ...query, by: who }), 'such exemption'),
    }),
  ];
}

function shadowsRoutes(shadows: ShadowsRepository): Route[] {
  return [
    route({
      method: 'GET',
      path: '/shadows',
      role: 'read',
      summary: 'Rules that were switched to observe only, or back',
      answer: z.object({ shadows: z.array(shadowAnswer) }),
      run: async () => ({ body: { shadows: (await shadows.list()).map(({ at, ...shadow }: Shadow) => ({ ...shadow, at: timeOf(at) })) } }),
    }),
    route({
      method: 'PUT',
      path: '/shadows/{name}',
      role: 'operate',
      summary: 'Has a rule (or *, all without a switch of their own) only observe, or refuse again, whatever the rule says',
      params: nameParam,
      body: z.strictObject({ on: z.boolean() }),
      example: { on: true },
      async run({ params: { name }, body: { on }, who }) {
        await shadows.set({ rule: name, on, by: who });
        return {};
      },
    }),
    route({
      method: 'DELETE',
      path: '/shadows/{name}',
      role: 'operate',
      summary: 'Leaves it to the rule again',
      params: nameParam,
      run: async ({ params: { name }, who }) => gone(await shadows.remove({ rule: name, by: who }), 'switch of this rule'),
    }),
  ];
}

/** What differs from the rules for some. */
export const customersRoutes = (options: CustomersOptions): Route[] => [
  ...plansRoutes(options),
  ...overridesRoutes(options),
  ...exemptionsRoutes(options.exemptions),
  ...shadowsRoutes(options.shadows),
];
