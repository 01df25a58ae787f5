import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Role } from '../../rules/records.js';
import { readBody } from './errors.js';

/** An endpoint: from this its routes are made, its part of the OpenAPI document, and of `docs/http-api.md`. */
export interface Endpoint {
  readonly methods: readonly string[];
  /** As OpenAPI writes it: `/v1/quotas/{key}`. A last part `{rest...}` is all that follows. */
  readonly path: string;
  readonly tag: 'Decisions' | 'Gateways' | 'Quotas' | 'Devices' | 'Store' | 'Operation' | 'Administration';
  /** One line. */
  readonly summary: string;
  readonly description?: string;
  /** Of whom a token must be; without it nobody is asked who he is. */
  readonly role?: Role;
  /** Instead of a role: looks whether a token is shown, before anything of the body is read. Answers who shows none, else nothing. */
  readonly admit?: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | undefined;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** Bytes of a body at most, if not those of most bodies. */
  readonly largestBody?: number;
  /** Of a body. */
  readonly example?: unknown;
  /** Whether `If-Match` with a version must be sent. */
  readonly needsBase?: true;
  /** The status if all is well. */
  readonly status: number;
  /** What it answers then; without a schema nothing, or of another `media` than JSON. */
  readonly answer?: z.ZodType;
  readonly media?: string;
  /** Header fields of that answer, and what they tell. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses of the problems that it answers. */
  readonly problems: readonly number[];
  /** Answers before Fastify looks at a body, which Node then drops. */
  readonly ignoresBody?: true;
  readonly handle: (request: FastifyRequest, reply: FastifyReply) => unknown;
}

/** A handler with the body that it reads. */
export const reading = <B extends z.ZodType>(
  body: B,
  run: (body: z.infer<B>, reply: FastifyReply, request: FastifyRequest) => unknown,
): Pick<Endpoint, 'body' | 'handle'> => ({ body, handle: (request, reply) => run(readBody(body, request.body), reply, request) });

/** How Fastify writes a path. */
export const routePath = (path: string): string => path.replace(/\{\w+\.\.\.\}$/, '*').replaceAll(/\{(\w+)\}/g, ':$1');

/** Serves endpoints. */
export function serve(app: FastifyInstance, endpoints: readonly Endpoint[]): void {
  for (const { methods, path, handle, ignoresBody, admit, largestBody } of endpoints) {
    const early = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => handle(request, reply);
    const handlers = ignoresBody
      ? { onRequest: early, handler: (_request: FastifyRequest, reply: FastifyReply) => reply }
      : { handler: handle, ...(admit && { onRequest: async (request: FastifyRequest, reply: FastifyReply) => admit(request, reply) }) };
    app.route({
      method: [...methods],
      url: routePath(path),
      ...(largestBody !== undefined && { bodyLimit: largestBody }),
      ...handlers,
    });
  }
}

/** Which methods a path has; none: it does not exist. */
export function methodsOf(endpoints: readonly Endpoint[]): (path: string) => string[] {
  const known = endpoints.map(({ methods, path }) => ({
    methods: methods.includes('GET') && !methods.includes('HEAD') ? [...methods, 'HEAD'] : methods,
    shape: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
  }));
  return (path) => [...new Set(known.flatMap(({ methods, shape }) => (shape.test(path) ? methods : [])))];
}
