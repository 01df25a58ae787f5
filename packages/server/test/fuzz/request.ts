import fc, { type Arbitrary } from 'fast-check';
import { bodySchemaOf, type Described, type OpenApi, type Parameter } from '../support/described.js';
import { hostileJson, hostileText, nearlyValid, validOf } from './arbitrary.js';

/** A request as it goes out, byte by byte. */
export interface Fuzzed {
  readonly operation: Described;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer | undefined;
}

/** As it goes into a URL; a lone surrogate, which has no encoding, as bytes that are no UTF-8. */
const encoded = (value: unknown): string => {
  const text = String(value);
  return text.isWellFormed() ? encodeURIComponent(text) : '%ed%a0%80';
};

const valueOf = (parameter: Parameter, { components }: OpenApi): Arbitrary<unknown> =>
  fc.oneof(
    { weight: 4, arbitrary: validOf(parameter.schema, components.schemas, parameter.name) },
    {
      weight: 1,
      arbitrary: fc.oneof(
        hostileText,
        hostileJson.map((value) => JSON.stringify(value)),
      ),
    },
  );

function targetOf(operation: Described, document: OpenApi): Arbitrary<string> {
  const at = (where: Parameter['in']): Parameter[] => operation.parameters.filter((parameter) => parameter.in === where);
  const path = fc
    .tuple(...at('path').map((parameter) => valueOf(parameter, document)))
    .map((values) => at('path').reduce((text, { name }, index) => text.replace(`{${name}}`, () => encoded(values[index])), operation.path));
  const query = fc
    .tuple(...at('query').map((parameter) => fc.tuple(fc.constantFrom(0, 1, 1, 1, 2), valueOf(parameter, document))))
    .map((values) =>
      at('query').flatMap(({ name }, index) => Array<string>(values[index]?.[0] ?? 0).fill(`${name}=${encoded(values[index]?.[1])}`)),
    );
  return fc
    .tuple(path, query, fc.constantFrom('', '', '', '', '__proto__=1', 'constructor[prototype]=1', '%', 'a=%zz'))
    .map(([before, fields, more]) => {
      const all = [...fields, ...(more === '' ? [] : [more])];
      return all.length > 0 ? `${before}?${all.join('&')}` : before;
    });
}

/** JSON text that says a field twice, or ends too soon. */
const spoiled = (text: string): Arbitrary<string> =>
  fc.constantFrom(
    text.replace(/^\{("[^"]*":)/, '{$1null,$1'),
    text.slice(0, -1),
    `${text}}`,
    `\ufeff${text}`,
    text.replaceAll('"', "'"),
    `[${text}]`,
    text.replace(/\d+/, '1e999'),
  );

function bodyOf(operation: Described, { components }: OpenApi): Arbitrary<Buffer | undefined> {
  const schema = bodySchemaOf(operation);
  const valid = schema === undefined ? hostileJson : validOf(schema, components.schemas);
  const text = fc.oneof(
    { weight: 5, arbitrary: valid.map((value) => JSON.stringify(value)) },
    { weight: 4, arbitrary: nearlyValid(valid).map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: hostileJson.map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: valid.chain((value) => spoiled(JSON.stringify(value))) },
  );
  const bytes = fc.oneof(
    { weight: 12, arbitrary: text.map((json) => Buffer.from(json)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)) },
    { weight: 1, arbitrary: fc.constantFrom(Buffer.from('['.repeat(30_000)), Buffer.alloc(70_000, ' '), Buffer.from('\u0000')) },
  );
  return schema === undefined ? fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: bytes }) : bytes;
}

const types = fc.oneof(
  { weight: 12, arbitrary: fc.constant('application/json') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('text/plain', 'application/json; charset=utf-16', 'multipart/form-data', '', 'a/b/c', 'application/JSON;;;'),
  },
);

/** Field values as they may go over the wire: no line breaks, which would be other fields. */
const fieldValue = fc.oneof(
  fc.constantFrom('"1"', '"0"', '"999999999999999"', 'W/"1"', '*', ''),
  fc.string({ maxLength: 30 }).map((text) => text.replace(/[^\x20-\x7e]/g, '~')),
);

const fields = fc.array(
  fc.tuple(
    fc.constantFrom(
      'if-match',
      'x-original-uri',
      'x-original-method',
      'x-original-host',
      'x-api-key',
      'x-account',
      'x-forwarded-for',
      'cookie',
      'accept',
      'authorization',
      'origin',
    ),
    fieldValue,
  ),
  { maxLength: 4 },
);

/** Requests to one operation: most as it wants them, or nearly. */
export function requestTo(operation: Described, document: OpenApi): Arbitrary<Fuzzed> {
  const needsBase = operation.parameters.some(({ name }) => name === 'If-Match');
  const method = fc.oneof(
    { weight: 20, arbitrary: fc.constant(operation.method) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('GET', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH', 'TRACE', 'PROPFIND', 'QUERY', 'LINK'),
    },
  );
  return fc
    .record({ method, target: targetOf(operation, document), body: bodyOf(operation, document), type: types, more: fields })
    .map(({ method: by, target, body, type, more }) => {
      const headers = [
        ...(body === undefined ? [] : [['content-type', type] as const]),
        ...(needsBase ? [['if-match', '"1"'] as const] : []),
        ...more,
      ];
      const told = JSON.stringify([`${by} ${target}`, headers, body?.toString('latin1')]).slice(0, 2000);
      return { operation, method: by, target, headers, body, [fc.toStringMethod]: () => told };
    });
}
