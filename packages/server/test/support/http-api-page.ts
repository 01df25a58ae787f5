import { bodySchemaOf, operationsOf, type Described, type JsonSchema, type OpenApi, type Parameter } from './described.js';

const head = `# HTTP API

Made from \`packages/server/schema/openapi.json\`, which a running service tells at \`/admin/v1/openapi.json\` (without the endpoints that need a
database, where it has none). What the words mean is in [service.md](service.md).
`;

const whole = (number: number): string => number.toLocaleString('en-US');

function range(least: number | undefined, most: number | undefined, unit = ''): string {
  // JSON Schema of a whole number names the largest that is exact: no bound that anybody chose.
  const [from, to] = [least === -Number.MAX_SAFE_INTEGER ? undefined : least, most === Number.MAX_SAFE_INTEGER ? undefined : most];
  if (from === undefined && to === undefined) return '';
  if (to === undefined) return `, at least ${whole(from ?? 0)}${unit}`;
  return from === undefined || (from === 0 && unit !== '') ? `, at most ${whole(to)}${unit}` : `, ${whole(from)} to ${whole(to)}${unit}`;
}

const nameOf = ($ref: string): string => $ref.split('/').at(-1) ?? '';

/** Objects that are told apart by a field whose value is another in each. */
function toldApart(forms: readonly JsonSchema[]): string {
  const field = Object.entries(forms[0]?.properties ?? {}).find(([, { const: only }]) => only !== undefined)?.[0] ?? '';
  const values = forms.map(({ properties = {} }) => `\`${JSON.stringify(properties[field]?.const ?? properties[field]?.enum)}\``);
  return `object, told apart by \`${field}\`: ${values.join(', ')}`;
}

function typeText(schema: JsonSchema): string {
  const { $ref, enum: values, const: only, anyOf, oneOf, type, items, format } = schema;
  if (typeof type === 'object') return type.map((one) => typeText({ type: one })).join(', or ');
  if ($ref !== undefined) return `[${nameOf($ref)}](#${nameOf($ref).toLowerCase()})`;
  if (values) return values.map((value) => `\`${JSON.stringify(value)}\``).join(', ');
  if (only !== undefined) return `\`${JSON.stringify(only)}\``;
  if (anyOf) return anyOf.map(typeText).join(', or ');
  if (oneOf) return toldApart(oneOf);
  switch (type) {
    case 'string':
      return format === 'date-time' ? 'time (RFC 3339)' : `text${range(schema.minLength, schema.maxLength, ' characters')}`;
    case 'integer':
      return `whole number${range(schema.minimum, schema.maximum)}`;
    case 'array':
      return `list${range(schema.minItems, schema.maxItems)}${items === undefined || items.properties ? '' : ` of ${typeText(items)}`}`;
    case 'object': {
      const { additionalProperties: rest } = schema;
      return typeof rest === 'object' && Object.keys(rest).length > 0 ? `object; of each name ${typeText(rest)}` : 'object';
    }
    case undefined:
      return 'any JSON';
    default:
      return type;
  }
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const row = (...cells: string[]): string => `| ${cells.map(cell).join(' | ')} |`;
const table = (titles: readonly string[], rows: readonly string[]): string[] =>
  rows.length === 0 ? [] : ['', row(...titles), row(...titles.map(() => '---')), ...rows];

const told = ({ description = '', default: value }: JsonSchema): string =>
  [description, value === undefined ? '' : `\`${JSON.stringify(value)}\` by default.`].filter((part) => part !== '').join(' ');

/** A row for each field, those of inner objects as `outer.inner`, and of lists as `outer[].inner`. */
function fieldRows({ properties = {}, required = [], anyOf }: JsonSchema, before = ''): string[] {
  if (anyOf) return anyOf.flatMap((one, index) => [...(index > 0 ? [row('*or*', '', '')] : []), ...fieldRows(one, before)]);
  return Object.entries(properties).flatMap(([name, field]) => {
    const isOptional = !required.includes(name);
    const path = `${before}${name}`;
    const own = row(`\`${path}\`${isOptional ? '?' : ''}`, typeText(field), told(field));
    if (field.type === 'array' && field.items?.properties) return [own, ...fieldRows(field.items, `${path}[].`)];
    return field.properties ? [own, ...fieldRows(field, `${path}.`)] : [own];
  });
}

const example = ({ schema: { examples = [], enum: values = [], type } }: Parameter): string =>
  encodeURIComponent(String(examples[0] ?? values[0] ?? (type === 'integer' ? 1 : 'VALUE'))).replaceAll('%2F', '/');

const required = ({ parameters }: Described, where: Parameter['in']): Parameter[] =>
  parameters.filter((parameter) => parameter.in === where && parameter.required);

/** Path and query, with the examples of what is required. */
export function exampleTarget(operation: Described): string {
  const target = required(operation, 'path').reduce(
    (text, parameter) => text.replace(`{${parameter.name}}`, example(parameter)),
    operation.path,
  );
  const query = required(operation, 'query').map((parameter) => `${parameter.name}=${example(parameter)}`);
  return query.length > 0 ? `${target}?${query.join('&')}` : target;
}

function curl(operation: Described): string {
  const { method, requestBody, security } = operation;
  const url = `http://127.0.0.1:8080${exampleTarget(operation)}`;
  const body = requestBody?.content['application/json']?.example;
  const isPlain = method === 'GET' || (method === 'POST' && body !== undefined);
  const parts = [
    `curl${isPlain ? '' : ` -X ${method}`} ${/[?&*]/.test(url) ? `'${url}'` : url}`,
    ...(security.length > 0 ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...required(operation, 'header').map(({ name, schema }) => `-H '${name}: ${String(schema.examples?.[0])}'`),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`]),
  ];
  return ['```sh', parts.join(' \\\n  '), '```'].join('\n');
}

/** The success with its fields, then the statuses of problems, whose meanings are told once. */
function answers({ responses }: Described): string[] {
  const [success, ...others] = Object.entries(responses);
  if (success === undefined) return [];
  const [status, { headers = {}, content = {} }] = success;
  const [media] = Object.keys(content);
  const fields = Object.entries(headers).map(([name, { description }]) => `- \`${name}\`: ${description}`);
  const problems = others.map(([problem]) => problem).join(', ');
  return [
    '',
    `Answers ${status}${media === undefined ? ', without a body' : ` \`${media}\``}${problems === '' ? '' : `; problems: ${problems}`}.`,
    ...(fields.length > 0 ? ['', ...fields] : []),
  ];
}

function section(operation: Described, methods: string): string {
  const { path, summary, description, parameters, responses } = operation;
  const body = bodySchemaOf(operation);
  const success = Object.values(responses)[0]?.content?.['application/json']?.schema;
  return [
    `### ${methods} ${path}`,
    '',
    `${summary}.${description === undefined ? '' : ` ${description}`}`,
    ...table(
      ['parameter', 'in', 'is', ''],
      parameters.map(({ name, in: where, required, description: tells = '', schema }) =>
        row(`\`${name}\`${required ? '' : '?'}`, where, typeText(schema), told({ ...schema, description: tells })),
      ),
    ),
    ...(body === undefined ? [] : table(['body', 'is', ''], fieldRows(body))),
    ...answers(operation),
    ...(success === undefined ? [] : table(['answer', 'is', ''], fieldRows(success))),
    '',
    curl(operation),
    '',
  ].join('\n');
}

function groupBy<T>(all: readonly T[], nameOfOne: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) groups.set(nameOfOne(one), [...(groups.get(nameOfOne(one)) ?? []), one]);
  return groups;
}

/** Operations that differ in nothing but the method are told once. */
function sections(operations: readonly Described[]): string[] {
  const byPath = groupBy(operations, ({ path, summary }) => `${path} ${summary}`);
  return [...byPath.values()].map((same) => {
    const chosen = same.find(({ method }) => method === 'GET') ?? same[0];
    if (chosen === undefined) throw new Error('a path without an operation');
    return section(chosen, same.length > 4 ? 'ANY' : same.map(({ method }) => method).join(', '));
  });
}

/** `docs/http-api.md`, of the OpenAPI document alone. */
export function httpApiPage(document: OpenApi): string {
  const byTag = groupBy(operationsOf(document), ({ tags: [tag = ''] }) => tag);
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) =>
    [
      `### ${name}`,
      '',
      ...(schema.description === undefined ? [] : [schema.description]),
      ...table(['field', 'is', ''], fieldRows(schema)),
      '',
    ].join('\n'),
  );
  const problems = Object.entries(document.components.responses).map(([name, { description }]) =>
    row(name.replace('Problem', ''), description),
  );
  return [
    head,
    `${document.info.description}\n\nA field or parameter with \`?\` may be left out. A key or name in a path is percent-encoded.\n`,
    ...[...byTag].flatMap(([tag, operations]) => [`## ${tag}\n`, ...sections(operations)]),
    ['## Problems', ...table(['status', ''], problems), ''].join('\n'),
    '## Schemas\n',
    ...schemas,
  ].join('\n');
}
