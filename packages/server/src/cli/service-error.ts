import { exitCodes } from './exit-codes.js';

/** The service did not do what was asked: in one line why, with the mend, and what to end with. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly exitCode: number;
  /** Of the answer; undefined where there was none. */
  readonly status: number | undefined;
  constructor(exitCode: number, message: string, status?: number) {
    super(message);
    this.exitCode = exitCode;
    this.status = status;
  }
}

/** A connection that did not come about, by the code of the system or of TLS. */
export function noAnswer(url: string, { code = '', message }: NodeJS.ErrnoException): ServiceError {
  const told = (text: string): ServiceError => new ServiceError(exitCodes.unavailable, `${url}: ${text}`);
  if (code === 'ECONNREFUSED') return told('no service listens there; start it (headgate serve), or name another: --url URL');
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return told(`its host has no address (${code}); is --url right?`);
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS/.test(code))
    return told(`its certificate is not trusted (${code}); name its issuer: --ca FILE`);
  if (code === 'EPROTO' || code.startsWith('ERR_SSL')) return told(`it speaks no TLS as expected (${code}); is it http:// there?`);
  if (code.startsWith('HPE_')) return told(`what answers speaks no HTTP (${code}); is --url right, and is it https:// there?`);
  return told(`the connection failed (${code === '' ? message : code}); is --url right?`);
}

interface Fault {
  readonly pointer?: unknown;
  readonly detail?: unknown;
}

/** What a problem (RFC 9457) says, its faults behind each other. */
function saidBy(problem: unknown): string {
  const { detail, errors } = (typeof problem === 'object' && problem !== null ? problem : {}) as { detail?: unknown; errors?: unknown };
  const faults = Array.isArray(errors) ? (errors as Fault[]).map((fault) => [fault.pointer, fault.detail].filter(Boolean).join(': ')) : [];
  return [...(typeof detail === 'string' ? [detail] : []), ...faults].join('; ');
}

const mends: Record<number, string> = {
  401: 'set HEADGATE_TOKEN; headgate token create NAME --role operate makes a token',
  403: 'headgate token create NAME --role operate makes a token that may',
};

const codeOf = (status: number): number =>
  status === 401 || status === 403 ? exitCodes.forbidden : status >= 500 ? exitCodes.unavailable : exitCodes.rejected;

/** An answer that is no success. */
export function notDone(url: string, { status, problem }: { readonly status: number; readonly problem: unknown }): ServiceError {
  const said = saidBy(problem);
  if (problem === undefined)
    return new ServiceError(exitCodes.unavailable, `${url}: what answers (with ${status}) is no Headgate; is --url right?`, status);
  const mend = mends[status];
  const parts = [`${url} answers ${status}${said === '' ? '' : `: ${said}`}`, ...(mend === undefined ? [] : [mend])];
  return new ServiceError(codeOf(status), parts.join('; '), status);
}
