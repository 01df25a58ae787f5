import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { InputError } from 'headgate';
import { problemContentType, type Problem } from 'headgate/http';
import type { z } from 'zod';
import { TooManyRulesError } from '../../usecases/gate.js';
import { UnknownIdError } from '../../usecases/take-back.js';

/** A request that is not what the endpoint takes, with where. */
export class BadRequestError extends Error {
  override readonly name = 'BadRequestError';
  readonly errors: NonNullable<Problem['errors']>;
  constructor(errors: NonNullable<Problem['errors']>) {
    super('bad request');
    this.errors = errors;
  }
}

const pointer = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** Reads a body by its schema. @throws BadRequestError with a JSON pointer per fault */
export function readBody<T extends z.ZodType>(schema: T, body: unknown): z.infer<T> {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  throw new BadRequestError(parsed.error.issues.flatMap(faultsOf));
}

function faultsOf(issue: z.core.$ZodIssue): { pointer: string; detail: string }[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => ({ pointer: pointer([...issue.path, key]), detail: 'unknown field' }));
  return [{ pointer: pointer(issue.path), detail: issue.message }];
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  return reply.code(problem.status).header('content-type', problemContentType).header('cache-control', 'no-store').send(JSON.stringify(problem));
}

const plain = (status: number, title: string, more?: Partial<Problem>): Problem => ({ type: 'about:blank', title, status, ...more });

/** Where a TypeError of the library points in a body with one check; groups name the check by their rule. */
const pointers: Record<string, string> = { HEADGATE_UNKNOWN_RULE: '/rule', HEADGATE_BAD_KEY: '/key', HEADGATE_BAD_COST: '/cost' };

/** Of a fault in a group: which check the library stumbled over. */
function inGroup(request: FastifyRequest, error: InputError): string {
  const field = pointers[error.code] ?? '';
  const checks: unknown = (request.body as { checks?: unknown } | undefined)?.checks;
  if (!Array.isArray(checks)) return field;
  const index = checks.findIndex((check: { rule?: unknown }) => error.message.includes(JSON.stringify(check.rule)));
  return index < 0 ? '/checks' : `/checks/${index}${field}`;
}

function problemFor(error: FastifyError & { code?: string }, request: FastifyRequest): Problem {
  if (error instanceof BadRequestError) return plain(400, 'Bad request', { errors: error.errors });
  if (error instanceof UnknownIdError) return plain(400, 'Bad request', { errors: [{ pointer: '/id', detail: error.message }] });
  if (error instanceof TooManyRulesError) return plain(500, 'Too many rules match', { detail: error.message });
  if (error instanceof TypeError && error.code?.startsWith('HEADGATE_')) {
    const status = error.code === 'HEADGATE_UNKNOWN_RULE' ? 404 : 400;
    const title = status === 404 ? 'Unknown rule' : 'Bad request';
    return plain(status, title, { errors: [{ pointer: inGroup(request, error as InputError), detail: error.message }] });
  }
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return plain(413, 'Content too large', { detail: 'a body has at most 64 KiB' });
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return plain(415, 'Unsupported media type', { detail: 'send application/json' });
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
    return plain(error.statusCode, error.statusCode === 400 ? 'Bad request' : 'Request refused', {
      ...(error.statusCode === 400 ? { errors: [{ pointer: '', detail: 'the body is not valid JSON' }] } : undefined),
    });
  }
  return plain(500, 'Internal error');
}

/** Answers every error as problem+json: what the caller can mend in detail, what it cannot without any. */
export function problemErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const problem = problemFor(error, request);
    if (problem.status >= 500) request.log.error({ err: error }, 'request failed');
    return sendProblem(reply, problem);
  });
  app.setNotFoundHandler((_request, reply) => sendProblem(reply, plain(404, 'Not found', { detail: 'see /healthz, /readyz, /metrics, /v1/check and /v1/gate' })));
}
