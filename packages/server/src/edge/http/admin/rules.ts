import { z } from 'zod';
import { identifySchema, nameSchema, ruleSchema } from '../../../rules/schema.js';
import type { Difference, RulesRepository, Version, Written } from '../../../rules/repository.js';
import { nameParam, pageQuery, route, timeOf, UnknownNameError, versionQuery, type Answer, type Route } from './route.js';

const exampleRule = { match: { path: '/search' }, key: ['apiKey'], limit: { tokenBucket: { capacity: 20, refill: '2/s' } } };

/** A rule as it is stored: what a rules file says of one, its name apart. */
export const storedRule = ruleSchema.partial({ name: true });
const reason = z.string().max(1000).default('').describe('Why; in the history.');

const versionAnswer = z.object({
  number: z.number(),
  author: z.string(),
  at: z.iso.datetime(),
  reason: z.string(),
  kind: z.enum(['change', 'rollback', 'import']),
  restores: z.number().optional(),
  touched: z.array(z.object({ kind: z.enum(['rule', 'block']), name: z.string(), did: z.enum(['added', 'changed', 'removed']) })),
  count: z.number(),
});
const differenceAnswer = z.object({ kind: z.enum(['rule', 'block']), name: z.string(), before: z.unknown(), after: z.unknown() });
const writtenAnswer = z.object({ version: z.number(), differences: z.array(differenceAnswer), warnings: z.array(z.string()) });
const setAnswer = z.object({ version: z.number(), rules: z.record(z.string(), z.unknown()), blocks: z.record(z.string(), z.unknown()) });

const etag = (version: number): Record<string, string> => ({ etag: `"${version}"` });

const written = ({ version, differences, warnings }: Written): Answer => ({
  headers: etag(version),
  body: { version, differences: differences.map(shown), warnings },
});

/** Absent as null: JSON has no undefined. */
const shown = ({ kind, name, before = null, after = null }: Difference): unknown => ({ kind, name, before, after });

const versionJson = ({ at, ...version }: Version): unknown => ({ ...version, at: timeOf(at) });

/** The rules with their versions. */
export function rulesRoutes(repository: RulesRepository): Route[] {
  return [
    route({
      method: 'GET',
      path: '/rules',
      role: 'read',
      summary: 'All rules in force, or as they were at a version',
      query: z.object({ version: versionQuery.optional() }),
      answer: setAnswer,
      tellsVersion: true,
      async run({ query: { version } }) {
        const set = await (version === undefined ? repository.current() : repository.at(version));
        return {
          headers: etag(set.version),
          body: { version: set.version, rules: Object.fromEntries(set.rules), blocks: Object.fromEntries(set.blocks) },
        };
      },
    }),
    route({
      method: 'GET',
      path: '/rules/{name}',
      role: 'read',
      summary: 'One rule in force',
      params: nameParam,
      answer: z.object({ version: z.number(), rule: storedRule }),
      tellsVersion: true,
      async run({ params: { name } }) {
        const { version, rules } = await repository.current();
        if (!rules.has(name)) throw new UnknownNameError(`no rule of the name ${JSON.stringify(name)} is in force`);
        return { headers: etag(version), body: { version, rule: rules.get(name) } };
      },
    }),
    route({
      method: 'PUT',
      path: '/rules/{name}',
      role: 'edit',
      summary: 'Adds or replaces a rule: a new version',
      params: z.object({ name: nameSchema.meta({ examples: ['search'] }) }),
      body: z.strictObject({ rule: storedRule, reason }),
      example: { rule: exampleRule, reason: 'too many bots' },
      needsBase: true,
      answer: writtenAnswer,
      tellsVersion: true,
      run: async ({ params: { name }, body: { rule, reason: why }, who, base = -1 }) =>
        written(await repository.change({ base, author: who, reason: why, put: { [name]: rule } })),
    }),
    route({
      method: 'DELETE',
      path: '/rules/{name}',
      role: 'edit',
      summary: 'Removes a rule: a new version',
      params: nameParam,
      query: z.object({ reason }),
      needsBase: true,
      answer: writtenAnswer,
      tellsVersion: true,
      run: async ({ params: { name }, query: { reason: why }, who, base = -1 }) =>
        written(await repository.change({ base, author: who, reason: why, remove: [name] })),
    }),
    route({
      method: 'POST',
      path: '/changes',
      role: 'edit',
      summary: 'Several changes as one version',
      body: z.strictObject({
        put: z.record(nameSchema, storedRule).optional(),
        remove: z.array(z.string()).optional(),
        identify: identifySchema.nullable().optional().describe('null removes it'),
        reason,
      }),
      example: { put: { search: exampleRule }, remove: ['old'], reason: 'the new search' },
      needsBase: true,
      answer: writtenAnswer,
      tellsVersion: true,
      run: async ({ body: { put, remove, identify, reason: why }, who, base = -1 }) =>
        written(
          await repository.change({
            base,
            author: who,
            reason: why,
            ...(put && { put }),
            ...(remove && { remove }),
            ...(identify !== undefined && { blocks: { identify } }),
          }),
        ),
    }),
    route({
      method: 'GET',
      path: '/versions',
      role: 'read',
      summary: 'What was changed, by whom and why; the newest first',
      query: z.object({ ...pageQuery, rule: z.string().optional() }),
      answer: z.object({ versions: z.array(versionAnswer) }),
      async run({ query: { limit, before, rule } }) {
        const page = { limit, ...(before === undefined ? undefined : { before }), ...(rule === undefined ? undefined : { rule }) };
        return { body: { versions: (await repository.history(page)).map(versionJson) } };
      },
    }),
    route({
      method: 'GET',
      path: '/diff',
      role: 'read',
      summary: 'What differs between two versions',
      query: z.object({ from: versionQuery, to: versionQuery }),
      answer: z.object({ differences: z.array(differenceAnswer) }),
      run: async ({ query: { from, to } }) => ({ body: { differences: (await repository.diff(from, to)).map(shown) } }),
    }),
    route({
      method: 'POST',
      path: '/rollback',
      role: 'edit',
      summary: 'Brings back what was in force at a version: a new version',
      body: z.strictObject({ to: z.int().min(0), reason }),
      example: { to: 11, reason: 'as it was' },
      needsBase: true,
      answer: writtenAnswer,
      tellsVersion: true,
      run: async ({ body: { to, reason: why }, who, base = -1 }) =>
        written(await repository.rollback({ to, base, author: who, reason: why })),
    }),
  ];
}
