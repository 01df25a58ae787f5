import fc, { type Arbitrary } from 'fast-check';
import type { JsonSchema, OpenApi } from '../support/described.js';

type Schemas = OpenApi['components']['schemas'];

/** Text that breaks what reads it carelessly. */
export const hostileText = fc.oneof(
  fc.constantFrom(
    ...[
      '',
      ' ',
      '\0',
      '\ud800',
      '\udfff!',
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      '*',
      '../..',
      '%00',
      "'; DROP TABLE rules; --",
    ],
    ...[
      'null',
      'NaN',
      'Infinity',
      '-0',
      '1e999',
      '\u202e\ufeff',
      '💥'.repeat(64),
      'a\r\nb: c',
      '{{7*7}}',
      '$ref',
      '0'.repeat(400),
      'é',
      'e\u0301',
    ],
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.integer({ min: 1, max: 5000 }).map((length) => 'x'.repeat(length)),
);

const hostileNumber = fc.constantFrom(-1, 0.5, -0, 1e19, 2 ** 53, -(2 ** 53), 1e308, 5e-324, 9_000_000_001, 2 ** 31, 2 ** 32, 2 ** 63);

/** Any JSON, made to hurt. */
export const hostileJson: Arbitrary<unknown> = fc.oneof(
  hostileText,
  hostileNumber,
  fc.constantFrom(null, true, false, [], {}, [[[[]]]]),
  fc.array(fc.oneof(hostileText, hostileNumber), { maxLength: 40 }),
  fc.dictionary(hostileText, fc.oneof(hostileText, hostileNumber), { maxKeys: 8, noNullPrototype: true }),
);

const fromPattern = (pattern: string): Arbitrary<string> => {
  try {
    return fc.stringMatching(new RegExp(pattern));
  } catch {
    // Patterns that look ahead: of what is generated, some fits.
    return fc.constantFrom('search', 'api.example.com', 'GET');
  }
};

/** Names that are there, so that requests get further than "not found". */
const known: Record<string, Arbitrary<string>> = {
  rule: fc.constantFrom('search', 'monthly', 'exports', 'login', 'free', 'watch'),
  name: fc.constantFrom('search', 'monthly', 'other'),
  key: fc.constantFrom('a', 'b', 'ключ', 'c d/e%'),
};

function textOf({ pattern, format, minLength = 0, maxLength = 60 }: JsonSchema, name: string): Arbitrary<string> {
  if (format === 'date-time')
    return fc.date({ noInvalidDate: true, min: new Date('1971-01-01'), max: new Date('9998-01-01') }).map((date) => date.toISOString());
  const any =
    pattern === undefined ? fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, 60)) }) : fromPattern(pattern);
  const there = known[name];
  return there === undefined ? any : fc.oneof({ weight: 3, arbitrary: there }, { weight: 1, arbitrary: any });
}

function wholeOf({ minimum = -1000, maximum = 1_000_000 }: JsonSchema): Arbitrary<number> {
  const [min, max] = [Math.max(minimum, Number.MIN_SAFE_INTEGER), Math.min(maximum, Number.MAX_SAFE_INTEGER)];
  return fc.oneof(fc.constantFrom(min, max), fc.integer({ min, max: Math.min(max, min + 1000) }));
}

/** Values that a schema allows, or nearly: what it cannot say (`refine`) is not known here. */
export function validOf(schema: JsonSchema, schemas: Schemas, name = ''): Arbitrary<unknown> {
  const {
    $ref,
    enum: values,
    const: only,
    oneOf,
    anyOf = oneOf,
    type,
    items,
    properties,
    required = [],
    additionalProperties: rest,
    propertyNames,
  } = schema;
  if ($ref !== undefined) {
    const target = $ref.split('/').at(-1) ?? '';
    return validOf(schemas[target] ?? {}, schemas, target);
  }
  if (values) return fc.constantFrom(...values);
  if (only !== undefined) return fc.constant(only);
  if (anyOf) return fc.oneof(...anyOf.map((one) => validOf(one, schemas, name)));
  if (typeof type === 'object') return fc.oneof(...type.map((one) => validOf({ ...schema, type: one }, schemas, name)));
  switch (type) {
    case 'string':
      return textOf(schema, name);
    case 'integer':
      return wholeOf(schema);
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(validOf(items ?? {}, schemas, name), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 3, 3),
      });
    case 'object': {
      if (schema.maxProperties === 1 && properties) {
        return fc
          .constantFrom(...Object.entries(properties))
          .chain(([key, one]) => validOf(one, schemas, key).map((value) => ({ [key]: value })));
      }
      if (properties === undefined) {
        const keys = propertyNames?.type === 'string' ? textOf(propertyNames, 'name') : fc.string({ minLength: 1, maxLength: 10 });
        return fc.dictionary(keys, validOf(typeof rest === 'object' ? rest : {}, schemas), { maxKeys: 3, noNullPrototype: true });
      }
      const fields = Object.fromEntries(Object.entries(properties).map(([key, one]) => [key, validOf(one, schemas, key)]));
      return fc.record(fields, { requiredKeys: required.filter((key) => key in fields), noNullPrototype: true });
    }
    default:
      return hostileJson;
  }
}

/** A valid value with one place changed: a value of another kind, a field too many or too few. */
export function nearlyValid(valid: Arbitrary<unknown>): Arbitrary<unknown> {
  return fc
    .tuple(valid, fc.nat(), fc.constantFrom('replace', 'remove', 'add'), hostileText, hostileJson)
    .map(([value, pick, act, name, other]) => {
      const changed = structuredClone(value);
      const places: [Record<string, unknown>, string][] = [];
      const walk = (at: unknown): void => {
        if (typeof at !== 'object' || at === null) return;
        for (const [key, inner] of Object.entries(at)) {
          places.push([at as Record<string, unknown>, key]);
          walk(inner);
        }
      };
      walk(changed);
      const place = places[pick % Math.max(1, places.length)];
      if (place === undefined) return other;
      const [at, key] = place;
      if (act === 'remove') Reflect.deleteProperty(at, key);
      else Object.defineProperty(at, act === 'add' ? name : key, { value: other, enumerable: true, configurable: true, writable: true });
      return changed;
    });
}
