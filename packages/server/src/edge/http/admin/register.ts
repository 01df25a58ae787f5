import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { bearerIn } from '../../../bearer.js';
import { DatabaseError } from '../../../database/errors.js';
import type { Endpoint } from '../endpoint.js';
import { plainProblem, readBody, sendProblem } from '../errors.js';
import { roles, type Role, type Route } from './route.js';

/** Who a bearer token belongs to; undefined for one that is not known or was revoked. */
export interface Bearer {
  readonly name: string;
  readonly role: Role;
}

export interface AdminOptions {
  readonly routes: readonly Route[];
  /** Whether any token holds: without one, only this machine is served. */
  readonly hasTokens: () => Promise<boolean>;
  readonly bearerOf: (token: string) => Promise<Bearer | undefined>;
}

export const adminPath = '/admin/v1';

/** Who asks without a token, where none was made. */
const local: Bearer = { name: 'local', role: 'edit' };

const loopbackPeer = /^(::1|(::ffff:)?127(\.\d{1,3}){3})$/i;
/** A page of another site that has its name point to this machine sends its own name here. */
const loopbackHost = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/** What proxies and CDNs add to a request, each of them some. One that adds nothing and calls itself by this machine's name cannot be told. */
const byProxies = [
  ...['forwarded', 'via', 'x-real-ip', 'x-client-ip', 'x-cluster-client-ip', 'x-envoy-external-address'],
  ...['true-client-ip', 'cf-connecting-ip', 'fastly-client-ip', 'x-amzn-trace-id'],
];
const isByProxy = (name: string): boolean => byProxies.includes(name) || /^x-(forwarded|original)\b/.test(name);

const isLocal = ({ socket, headers, raw }: FastifyRequest): boolean =>
  loopbackPeer.test(socket.remoteAddress ?? '') &&
  loopbackHost.test(headers.host ?? '') &&
  // A proxy on this machine would bring in everybody. nginx may add nothing, and then speaks HTTP/1.0 unless it is told otherwise.
  raw.httpVersion !== '1.0' &&
  !Object.keys(headers).some(isByProxy);

/** Why a request is not served. */
class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Who has not shown a token yet is not told where the database is. */
const hidden = (error: unknown): never => {
  if (!(error instanceof DatabaseError)) throw error;
  throw new Refused(503, 'tokens cannot be looked up now: the database is away or will not do it; the log of the server tells more');
};

async function bearer(request: FastifyRequest, { hasTokens, bearerOf }: AdminOptions): Promise<Bearer> {
  const token = bearerIn(request.headers.authorization ?? '');
  if (token !== undefined) {
    const known = await bearerOf(token).catch(hidden);
    if (known === undefined) throw new Refused(401, 'this token is not known, or was revoked');
    return known;
  }
  if (await hasTokens().catch(hidden)) throw new Refused(401, 'send a token: Authorization: Bearer TOKEN');
  if (!isLocal(request)) throw new Refused(403, 'there is no token, so only this machine is served; make one: headgate token create');
  return local;
}

function baseOf({ headers }: FastifyRequest, { needsBase }: Route): number | undefined {
  const [, base] = /^"(\d{1,15})"$/.exec(headers['if-match'] ?? '') ?? [];
  if (base === undefined && needsBase)
    throw new Refused(428, 'send the version that you saw: If-Match: "12" (the ETag of GET /admin/v1/rules)');
  return base === undefined ? undefined : Number(base);
}

const read = (schema: z.ZodType | undefined, value: unknown): unknown => (schema === undefined ? undefined : readBody(schema, value));

async function answer(route: Route, request: FastifyRequest, options: AdminOptions): Promise<Awaited<ReturnType<Route['run']>>> {
  const { name: who, role } = await bearer(request, options);
  if (roles.indexOf(role) < roles.indexOf(route.role))
    throw new Refused(403, `this needs the role ${route.role}; the token ${JSON.stringify(who)} has ${role}`);
  const asked = {
    params: read(route.params, request.params),
    query: read(route.query, request.query),
    body: read(route.body, request.body),
    base: baseOf(request, route),
    who,
  };
  return route.run(asked as never);
}

/** Statuses of the problems that a route may answer. What is looked for may be named in the query or the body too: a version, an exemption. */
const problemsOf = ({ method, body, needsBase }: Route): number[] => [
  ...[400, 401, 403, 404, 503],
  // A body that nobody asked for is looked at, too.
  ...(body !== undefined || method === 'DELETE' ? [413, 415] : []),
  ...(body !== undefined ? [422] : []),
  ...(needsBase ? [412, 422, 428] : []),
];

const etagField = { ETag: 'The version of the rules, for `If-Match`.' };

/** The admin API. */
export function adminEndpoints(options: AdminOptions): Endpoint[] {
  async function handle(route: Route, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    reply.header('cache-control', 'no-store');
    try {
      const { status = route.answer ? 200 : 204, headers = {}, body } = await answer(route, request, options);
      return await reply.code(status).headers(headers).send(body);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.status === 401) reply.header('www-authenticate', 'Bearer');
      return sendProblem(reply, plainProblem(error.status, { detail: error.message }));
    }
  }
  return options.routes.flatMap((route) => {
    const { method, path, alias, run: _, status = route.answer ? 200 : 204, tellsVersion, ...described } = route;
    const endpoint = {
      ...described,
      methods: [method],
      tag: 'Administration' as const,
      status,
      ...(tellsVersion && { headers: etagField }),
      problems: problemsOf(route),
      handle: (request: FastifyRequest, reply: FastifyReply) => handle(route, request, reply),
    };
    return [adminPath + path, ...(alias === undefined ? [] : [alias])].map((at) => ({ ...endpoint, path: at }));
  });
}
