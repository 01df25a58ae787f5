import { z } from 'zod';
import { lengths } from '../../../rules/inputs.js';
import { roles, type AuditRepository, type TokensRepository } from '../../../rules/records.js';
import { pageQuery, route, timeOf, UnknownNameError, type Route } from './route.js';

const tokenName = z.string().min(lengths.token[0]).max(lengths.token[1]);

const tokenAnswer = z.object({
  name: z.string(),
  role: z.enum(roles),
  created: z.iso.datetime(),
  createdBy: z.string(),
  revoked: z.iso.datetime().optional(),
});

/** Tokens of this API, and the record of all writes. */
export function recordsRoutes({ tokens, audit }: { tokens: TokensRepository; audit: AuditRepository }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/tokens',
      role: 'read',
      summary: 'Tokens, without themselves',
      answer: z.object({ tokens: z.array(tokenAnswer) }),
      async run() {
        const shown = (await tokens.list()).map(({ created, revoked, ...rest }) => ({
          ...rest,
          created: timeOf(created),
          ...(revoked === undefined ? undefined : { revoked: timeOf(revoked) }),
        }));
        return { body: { tokens: shown } };
      },
    }),
    route({
      method: 'POST',
      path: '/tokens',
      role: 'edit',
      summary: 'Makes a token; it is shown this once',
      body: z.strictObject({ name: tokenName, role: z.enum(roles) }),
      example: { name: 'billing', role: 'operate' },
      answer: z.object({ token: z.string(), name: z.string(), role: z.enum(roles) }),
      status: 201,
      async run({ body: { name, role }, who }) {
        const { token } = await tokens.create({ name, role, by: who });
        return { status: 201, body: { token, name, role } };
      },
    }),
    route({
      method: 'DELETE',
      path: '/tokens/{name}',
      role: 'edit',
      summary: 'Revokes a token',
      params: z.object({ name: tokenName }),
      async run({ params: { name }, who }) {
        if (!(await tokens.revoke({ name, by: who }))) throw new UnknownNameError('no token of this name holds');
        return {};
      },
    }),
    route({
      method: 'GET',
      path: '/audit',
      role: 'read',
      summary: 'Every write, by whom and when; the newest first',
      query: z.object({ ...pageQuery, who: z.string().optional() }),
      answer: z.object({
        entries: z.array(
          z.object({
            id: z.number(),
            at: z.iso.datetime(),
            who: z.string(),
            what: z.string(),
            version: z.number().optional(),
            detail: z.unknown(),
          }),
        ),
      }),
      async run({ query: { limit, before, who } }) {
        const page = { limit, ...(before === undefined ? undefined : { before }), ...(who === undefined ? undefined : { who }) };
        return { body: { entries: (await audit.list(page)).map(({ at, ...entry }) => ({ ...entry, at: timeOf(at) })) } };
      },
    }),
  ];
}
