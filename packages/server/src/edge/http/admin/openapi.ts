import { z } from 'zod';
import type { Route } from './route.js';

const problem = {
  description: 'What is wrong, and how to mend it (RFC 9457).',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};

const jsonSchema = (schema: z.ZodType, io: 'input' | 'output'): unknown => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Record<string, unknown>;
  return rest;
};

const parametersOf = (schema: z.ZodObject | undefined, where: 'path' | 'query'): unknown[] =>
  Object.entries(schema?.shape ?? {}).map(([name, field]) => ({
    name,
    in: where,
    required: where === 'path' || !(field as z.ZodType).safeParse(undefined).success,
    schema: jsonSchema(field as z.ZodType, 'input'),
  }));

const ifMatch = {
  name: 'If-Match',
  in: 'header',
  required: true,
  description: 'The version that was seen, as an entity tag: `"12"`.',
  schema: { type: 'string', pattern: '^"\\d+"$' },
};

function operationOf({ method, path, role, summary, params, query, body, needsBase, answer, status = answer ? 200 : 204 }: Route): unknown {
  // What is looked for may be named in the query or the body too: a version, an exemption.
  const always = ['400', '401', '403', '404', '503'];
  const codes = [...always, ...(body ? ['413', '415', '422'] : []), ...(needsBase ? ['412', '422', '428'] : [])];
  return {
    operationId: `${method.toLowerCase()}${path.replaceAll(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase()).replaceAll(/\W/g, '')}`,
    summary,
    description: `Needs the role \`${role}\`.`,
    // Without any token, this machine is served.
    security: [{ bearer: [] }, {}],
    parameters: [...parametersOf(params, 'path'), ...parametersOf(query, 'query'), ...(needsBase ? [ifMatch] : [])],
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: jsonSchema(body, 'input') } } } }),
    responses: {
      [status]: answer
        ? { description: 'Done.', content: { 'application/json': { schema: jsonSchema(answer, 'output') } } }
        : { description: 'Done.' },
      ...Object.fromEntries(codes.sort().map((code) => [code, problem])),
    },
  };
}

/** The OpenAPI 3.1 document of these routes, made of the same schemas that read requests. */
export function openApiOf(routes: readonly Route[], { base, version }: { base: string; version: string }): unknown {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    for (const path of [base + route.path, ...(route.alias === undefined ? [] : [route.alias])]) {
      (paths[path] ??= {})[route.method.toLowerCase()] = operationOf({ ...route, path });
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Headgate admin API', version, license: { name: 'MIT', identifier: 'MIT' } },
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'A token made by `headgate token create`.' } },
      schemas: {
        Problem: {
          type: 'object',
          required: ['type', 'title', 'status'],
          properties: {
            type: { type: 'string' },
            title: { type: 'string' },
            status: { type: 'integer' },
            detail: { type: 'string' },
            errors: {
              type: 'array',
              items: { type: 'object', properties: { pointer: { type: 'string' }, detail: { type: 'string' } }, required: ['detail'] },
            },
          },
        },
      },
    },
  };
}
