import { z } from 'zod';
import { limitSchema } from '../../rules/schema.js';
import { decisionAnswer } from './bodies.js';
import { storedRule } from './admin/rules.js';
import type { Endpoint } from './endpoint.js';

/** Schemas that have a name in the document, since several endpoints have them. */
const named = new Map<z.ZodType, string>([
  [decisionAnswer, 'Decision'],
  [limitSchema, 'Limit'],
  [storedRule, 'Rule'],
]);

const described = {
  has: () => true,
  get: (schema: z.ZodType) => {
    const id = named.get(schema);
    return { ...z.globalRegistry.get(schema), ...(id === undefined ? undefined : { id }) };
  },
} as unknown as typeof z.globalRegistry;

type JsonObject = Record<string, unknown>;

/** A document that is being written: what has a name is gathered in `schemas`. */
interface Writing {
  readonly schemas: JsonObject;
}

const prefix = '#/components/schemas/';

/** As it stands in the document: without its own name, and what has one as a reference. */
function write({ schemas }: Writing, schema: z.ZodType, io: 'input' | 'output'): unknown {
  const text = JSON.stringify(z.toJSONSchema(schema, { io, unrepresentable: 'any', metadata: described }));
  const { $schema: _, $defs = {}, id, ...rest } = JSON.parse(text.replaceAll('#/$defs/', prefix)) as JsonObject & { $defs?: JsonObject };
  for (const [name, { id: __, ...definition }] of Object.entries($defs as Record<string, JsonObject>)) schemas[name] = definition;
  if (typeof id !== 'string') return rest;
  schemas[id] = rest;
  return { $ref: prefix + id };
}

function parametersOf(writing: Writing, schema: z.ZodObject | undefined, where: 'path' | 'query'): unknown[] {
  return Object.entries((schema?.shape ?? {}) as Record<string, z.ZodType>).map(([name, field]) => {
    const { description, ...rest } = write(writing, field, 'input') as JsonObject;
    return {
      name,
      in: where,
      required: where === 'path' || !field.safeParse(undefined).success,
      ...(description === undefined ? undefined : { description }),
      schema: rest,
    };
  });
}

const ifMatch = {
  name: 'If-Match',
  in: 'header',
  required: true,
  description: 'The version that was seen, as an entity tag: the `ETag` of `GET /admin/v1/rules`.',
  schema: { type: 'string', pattern: '^"\\d{1,15}"$', examples: ['"12"'] },
};

const meanings: Record<number, string> = {
  400: 'The request is not what the endpoint takes; `errors` tells where.',
  401: 'A token is missing, is not known, or was revoked.',
  403: 'Not with this token, or not from there; of the gate: a key is missing.',
  404: 'What is named is not there.',
  412: 'Somebody else changed the rules since; `detail` tells what they did.',
  413: 'The body is too large.',
  415: 'The body is not `application/json`.',
  422: 'The rules that would be in force have faults; `errors` tells them all.',
  428: '`If-Match` is missing.',
  429: 'A limit is exceeded.',
  500: 'More rules match than can be decided together.',
  503: 'The store or the database is away.',
};

/** The answers that many endpoints share, by status. */
const problems = Object.fromEntries(
  Object.entries(meanings).map(([status, description]) => [
    `Problem${status}`,
    { description, content: { 'application/problem+json': { schema: { $ref: `${prefix}Problem` } } } },
  ]),
);

const problem = (status: number): unknown => ({ $ref: `#/components/responses/Problem${status}` });

function successOf(writing: Writing, { answer, media, headers = {} }: Endpoint): unknown {
  const fields = Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]);
  const content = answer
    ? { 'application/json': { schema: write(writing, answer, 'output') } }
    : media !== undefined && { [media]: { schema: { type: 'string' } } };
  return {
    description: 'Done.',
    ...(fields.length > 0 && { headers: Object.fromEntries(fields) as unknown }),
    ...(content && { content }),
  };
}

const operationId = (method: string, path: string): string =>
  method.toLowerCase() + path.replaceAll(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase()).replaceAll(/\W/g, '');

function operationOf(writing: Writing, endpoint: Endpoint, method: string): unknown {
  const { path, tag, role, summary, description, params, query, body, example, needsBase, status, problems } = endpoint;
  const needs = role === undefined ? undefined : `Needs the role \`${role}\`.`;
  const text = [description, needs].filter((part) => part !== undefined).join(' ');
  const content = body && { 'application/json': { schema: write(writing, body, 'input'), ...(example !== undefined && { example }) } };
  return {
    operationId: operationId(method, path),
    tags: [tag],
    summary,
    ...(text !== '' && { description: text }),
    // Without any token, this machine is served.
    security: endpoint.admit ? [{ storeToken: [] }] : role === undefined ? [] : [{ bearer: [] }, {}],
    parameters: [...parametersOf(writing, params, 'path'), ...parametersOf(writing, query, 'query'), ...(needsBase ? [ifMatch] : [])],
    ...(content && { requestBody: { required: true, content } }),
    responses: {
      [status]: successOf(writing, endpoint),
      ...Object.fromEntries([...new Set(problems)].sort((a, b) => a - b).map((code) => [code, problem(code)])),
    },
  };
}

/** The methods that OpenAPI 3.1 has a place for. */
const writable = ['GET', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH', 'TRACE'];

const pathOf = (path: string): string => path.replace('...}', '}');

const problemSchema = {
  type: 'object',
  description: 'What is wrong, and how to mend it (RFC 9457).',
  required: ['type', 'title', 'status'],
  properties: {
    type: { type: 'string', description: '`about:blank`, or one of those in docs/errors.md.' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          pointer: { type: 'string', description: 'A JSON Pointer into the body, or `/NAME` of a parameter.' },
          detail: { type: 'string' },
        },
        required: ['pointer', 'detail'],
      },
    },
    'violated-policies': { type: 'array', items: { type: 'string' }, description: 'Names of the rules that refuse.' },
    unavailable: { type: 'array', items: { type: 'string' }, description: 'Of several Redis: those that do not answer.' },
  },
};

/** The OpenAPI 3.1 document of these endpoints, made of the same schemas that read requests. */
export function openApiOf(endpoints: readonly Endpoint[], version: string): unknown {
  const paths: Record<string, JsonObject> = {};
  const writing: Writing = { schemas: { Problem: problemSchema } };
  for (const endpoint of endpoints) {
    const at = (paths[pathOf(endpoint.path)] ??= {});
    for (const method of endpoint.methods.filter((name) => writable.includes(name)))
      at[method.toLowerCase()] = operationOf(writing, { ...endpoint, path: pathOf(endpoint.path) }, method);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Headgate',
      version,
      description:
        'A refusal of `/v1/check` is an answer, and so a 200. Every error is `application/problem+json` (RFC 9457). Any request may also be answered by 400 (no HTTP), 408 (it came too slowly), ' +
        '417 (`Expect`) or 431 (header fields too large), a path that is not there by 404, a method that it does not have by 405 with `Allow`. ' +
        'What has GET has HEAD.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A token made by `headgate token create`.' },
        storeToken: { type: 'http', scheme: 'bearer', description: 'The value of `HEADGATE_STORE_TOKEN`.' },
      },
      responses: problems,
      schemas: writing.schemas,
    },
  };
}
