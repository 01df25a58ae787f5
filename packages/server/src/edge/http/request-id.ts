import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { readTraceparent, type TraceContext } from '../../observe/trace-context.js';

/** So short, and of so few characters, that it can stand in a log line and a header field as it came. */
const accepted = /^[\w.:=+/-]{1,64}$/;

export const contextIn = ({ traceparent }: IncomingHttpHeaders): TraceContext | undefined =>
  typeof traceparent === 'string' ? readTraceparent(traceparent) : undefined;

/** Its caller's trace, for log lines. */
export function traceIn(headers: IncomingHttpHeaders): { traceId?: string } {
  const context = contextIn(headers);
  return context === undefined ? {} : { traceId: context.traceId };
}

/** What a request is called in the log and in its answer: as its caller says, else by its trace, else by a random name. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id'];
  if (typeof given === 'string' && accepted.test(given)) return given;
  return contextIn(headers)?.traceId ?? randomUUID();
}
