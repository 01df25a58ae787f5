import { z } from 'zod';

/** What of JSON Schema (2020-12) the document uses. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly propertyNames?: JsonSchema;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly description?: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly object[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema; readonly example?: unknown }>> };
  readonly responses: Readonly<Record<string, Response>>;
}

export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly description: string }>>;
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>;
}

export interface OpenApi {
  readonly openapi: string;
  readonly info: { readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, Response>>;
  };
}

/** One operation with where it is. */
export interface Described extends Operation {
  readonly path: string;
  readonly method: string;
}

/** All operations, with shared answers in place. */
export const operationsOf = ({ paths, components }: OpenApi): Described[] => {
  const resolved = (response: Response & { readonly $ref?: string }): Response =>
    components.responses[response.$ref?.split('/').at(-1) ?? ''] ?? response;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      responses: Object.fromEntries(Object.entries(operation.responses).map(([status, response]) => [status, resolved(response)])),
      path,
      method: method.toUpperCase(),
    })),
  );
};

export const bodySchemaOf = ({ requestBody }: Operation): JsonSchema | undefined => requestBody?.content['application/json']?.schema;

/** Why a value is not what a schema of this document says; undefined if it is. */
export type Judge = (schema: JsonSchema, value: unknown) => string | undefined;

/** Reads the document's own schemas, as a client of it would: not those that it was made of. */
export function judgeOf({ components }: OpenApi): Judge {
  const made = new WeakMap<JsonSchema, z.ZodType>();
  const local = (text: string): string => text.replaceAll('#/components/schemas/', '#/$defs/');
  const $defs = local(JSON.stringify(components.schemas));
  return (schema, value) => {
    let read = made.get(schema);
    if (read === undefined) {
      const own = JSON.parse(local(JSON.stringify(schema))) as object;
      read = z.fromJSONSchema({ ...own, $defs: JSON.parse($defs) as never });
      made.set(schema, read);
    }
    const { error } = read.safeParse(value);
    return error && z.prettifyError(error);
  };
}
