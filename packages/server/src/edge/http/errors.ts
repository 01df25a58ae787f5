import { STATUS_CODES } from 'node:http';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { StoreError } from 'headgate';
import { problemContentType, type Problem } from 'headgate/http';
import type { z } from 'zod';
import { DatabaseError } from '../../database/errors.js';
import { RulesError } from '../../rules/faults.js';
import { InputError } from '../../rules/inputs.js';
import { ConflictError, NoVersionError } from '../../rules/repository.js';
import { UnknownRuleError } from '../../usecases/decide.js';
import { NoQuotaError } from '../../usecases/quotas.js';
import { UnknownIdError } from '../../usecases/take-back.js';
import { UnknownNameError } from './admin/route.js';

type Faults = NonNullable<Problem['errors']>;

/** A request that is not what the endpoint takes, with where. */
export class BadRequestError extends Error {
  override readonly name = 'BadRequestError';
  readonly errors: Faults;
  constructor(errors: Faults) {
    super('bad request');
    this.errors = errors;
  }
}

/** A JSON pointer (RFC 6901). */
const pointer = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

const mostFaults = 32;

/** Reads a body by its schema. @throws BadRequestError with a JSON pointer per fault */
export function readBody<T extends z.ZodType>(schema: T, body: unknown): z.infer<T> {
  const parsed = schema.safeParse(body === undefined ? {} : body);
  if (parsed.success) return parsed.data;
  // Of one field one fault: a huge cost is too large and unsafe, which is one thing to mend.
  const faults = new Map(
    parsed.error.issues
      .flatMap(faultsOf)
      .reverse()
      .map((fault) => [fault.pointer, fault]),
  );
  throw new BadRequestError([...faults.values()].reverse().slice(0, mostFaults));
}

function faultsOf(issue: z.core.$ZodIssue): Faults {
  if (issue.code !== 'unrecognized_keys') return [{ pointer: pointer(issue.path), detail: issue.message }];
  return issue.keys.map((key) => ({ pointer: pointer([...issue.path, key.slice(0, 128)]), detail: 'unknown field' }));
}

/**
 * As bytes: of text, Fastify would add a charset, which this media type does not have. What the caller cannot mend names the request, by which
 * the log tells more; as a member of its own, as an `instance` has to be a URI, and there is none to look it up at.
 */
export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  const told = problem.status >= 500 ? { ...problem, requestId: reply.request.id } : problem;
  return reply
    .code(problem.status)
    .header('content-type', problemContentType)
    .header('cache-control', 'no-store')
    .send(Buffer.from(JSON.stringify(told)));
}

/** A problem that says no more than its status, but for details. */
export const plainProblem = (status: number, more?: Partial<Problem>): Problem => ({
  type: 'about:blank',
  title: STATUS_CODES[status] ?? 'Error',
  status,
  ...more,
});

const at = (status: number, where: string, detail: string): Problem => plainProblem(status, { errors: [{ pointer: where, detail }] });

/** Faults that Fastify finds before a route is asked, by status. */
const details: Record<number, string> = {
  408: 'the request took too long to arrive',
  415: 'send a body of content-type application/json',
  431: 'the header fields are too large',
};

/** Where a TypeError of the library points: verbs that take an id stumble over that, others over the rule. */
const libraryPointer = ({ body }: FastifyRequest): string => (typeof body === 'object' && body !== null && 'id' in body ? '/id' : '/rule');

function problemFor(error: FastifyError & { code?: string }, request: FastifyRequest): Problem {
  if (error instanceof BadRequestError) return plainProblem(400, { errors: error.errors });
  if (error instanceof UnknownIdError) return at(400, '/id', error.message);
  if (error instanceof UnknownRuleError) return at(404, hasChecks(request) ? `/checks/${error.index}/rule` : '/rule', error.message);
  if (error instanceof UnknownNameError || error instanceof NoVersionError || error instanceof NoQuotaError)
    return plainProblem(404, { detail: error.message });
  if (error instanceof InputError) return at(400, `/${error.field}`, error.message);
  if (error instanceof ConflictError) return plainProblem(412, { detail: error.message });
  if (error instanceof RulesError)
    return plainProblem(422, {
      errors: error.faults.slice(0, mostFaults).map(({ rule, message }) => ({ pointer: rule ?? '', detail: message })),
    });
  if (error instanceof DatabaseError || error instanceof StoreError) return plainProblem(503, { detail: error.message });
  if (error instanceof TypeError && error.code?.startsWith('HEADGATE_')) return at(400, libraryPointer(request), error.message);
  const { statusCode: status = 500 } = error;
  if (status === 400) return at(400, '', error.code === 'FST_ERR_BAD_URL' ? 'the path is not valid' : 'the body is not valid JSON');
  if (status < 400 || status > 499) return plainProblem(500);
  const { bodyLimit } = request.server.initialConfig;
  const detail = status === 413 ? `a body has at most ${bodyLimit ?? 0} bytes` : details[status];
  return plainProblem(status, detail === undefined ? {} : { detail });
}

const hasChecks = ({ body }: FastifyRequest): boolean => typeof body === 'object' && body !== null && 'checks' in body;

/** Answers an error as problem+json: what the caller can mend in detail, what it cannot without any. */
export function answerError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = problemFor(error, request);
  if (problem.status >= 500) request.log.error({ err: error }, 'request failed');
  return sendProblem(reply, problem);
}

/** Every error as problem+json: also unknown paths, and known ones with a method that they do not have. */
export function problemErrors(app: FastifyInstance, methodsOf: (path: string) => readonly string[] = () => []): void {
  app.setErrorHandler(answerError);
  app.setNotFoundHandler((request, reply) => {
    const [path = ''] = request.url.split('?');
    const allow = methodsOf(path);
    if (allow.length > 0) return sendProblem(reply.header('allow', allow.join(', ')), plainProblem(405));
    return sendProblem(reply, plainProblem(404, { detail: 'see /admin/v1/openapi.json for what there is' }));
  });
}
