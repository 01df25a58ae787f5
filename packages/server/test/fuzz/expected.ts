import { parseList } from 'structured-headers';
import type { Described, Judge, JsonSchema } from '../support/described.js';
import type { Received } from './client.js';
import type { Fuzzed } from './request.js';

const types = [
  'about:blank',
  'https://iana.org/assignments/http-problem-types#quota-exceeded',
  'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
];

/** Any request may get these: of what is no such path, method or request. */
const anywhere = [400, 404, 405, 413, 415, 431];

function faultOfProblem(
  { status, headers, body }: Received,
  problem: { readonly schema: JsonSchema; readonly judge: Judge },
): string | undefined {
  if (headers.get('content-type') !== 'application/problem+json') return 'no problem+json';
  const value = JSON.parse(body) as { readonly type: string; readonly status: number };
  if (!types.includes(value.type) || value.status !== status) return 'a problem of another type or status';
  if (/node_modules|\bat .*\.[jt]s:\d/.test(body)) return 'it tells where our code is';
  return problem.judge(problem.schema, value);
}

/** Why an answer is not one that the document allows; undefined if all is well. */
export function faultOf(
  { operation, method, target }: Fuzzed,
  received: Received,
  { judge, problem }: { readonly judge: Judge; readonly problem: JsonSchema },
): string | undefined {
  const { status, headers, body } = received;
  if (status >= 500) return 'a fault of ours';
  for (const name of ['ratelimit', 'ratelimit-policy']) {
    const value = headers.get(name);
    if (value !== undefined && parseList(value).length === 0) return `${name} is empty`;
  }
  if (method === 'HEAD' || method !== operation.method)
    return status >= 400 && method !== 'HEAD' && body !== '' ? faultOfProblem(received, { judge, schema: problem }) : undefined;
  const told: Described['responses'][string] | undefined = operation.responses[String(status)];
  if (told === undefined && !anywhere.includes(status)) return 'a status that is not documented';
  // nginx wants it empty.
  if (status === 403 && headers.has('x-headgate-status') && target.includes('refuse=403')) return body === '' ? undefined : 'a body';
  if (status >= 400) return faultOfProblem(received, { judge, schema: problem });
  const schema = told?.content?.['application/json']?.schema;
  return schema === undefined ? undefined : judge(schema, JSON.parse(body));
}
