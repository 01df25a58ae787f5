import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { StoreError } from '../../errors.js';
import { NotDoneError } from './wire.js';

export interface TransportOptions {
  /** Where operations are sent. */
  readonly url: URL;
  readonly token: string;
}

/** Sends a body and answers what comes back, once: nothing is ever sent twice. */
export interface Transport {
  post(body: string): Promise<unknown>;
  close(): void;
}

/** A service that has not answered by then never will: whoever asked has gone. */
const timeoutMs = 5000;
const mostConnections = 16;
/** Much more than 64 decisions are. */
const longestAnswer = 4 * 1024 * 1024;

/** No connection was made, or none that is trusted: nothing was sent. */
const unconnected = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|ERR_TLS_.*|.*CERT.*|UNABLE_TO_.*)$/;

/** Statuses by which the service itself, or what stands before it, refuses to begin. */
const refusals = new Set([400, 401, 403, 404, 405, 411, 413, 415, 421, 426, 429, 431]);

const mends: Record<number, string> = {
  401: 'the token is wrong, or the service has none: give both the same HEADGATE_STORE_TOKEN',
  404: 'the service has no store operations: is HEADGATE_STORE_TOKEN set there, and the url right?',
};

/** What a problem (RFC 9457) tells. */
interface Told {
  readonly detail?: unknown;
  readonly errors?: readonly { readonly pointer?: unknown; readonly detail?: unknown }[];
}

function wordsOf(body: unknown): string {
  const { detail, errors }: Told = typeof body === 'object' && body !== null ? body : {};
  if (typeof detail === 'string') return detail;
  const fault = Array.isArray(errors) ? (errors as NonNullable<Told['errors']>)[0] : undefined;
  return fault === undefined ? '' : `${String(fault.pointer)} ${String(fault.detail)}`;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function read(response: IncomingMessage, done: (text: string) => void, failed: (error: Error) => void): void {
  const parts: Buffer[] = [];
  let length = 0;
  response.on('data', (part: Buffer) => {
    length += part.length;
    if (length > longestAnswer) response.destroy(new Error('the answer is too long'));
    else parts.push(part);
  });
  response.on('end', () => done(Buffer.concat(parts).toString()));
  response.on('error', failed);
}

/** HTTP over connections that are kept. */
export function transport({ url, token }: TransportOptions): Transport {
  const { Agent, request } = url.protocol === 'https:' ? https : http;
  // The newest connection first, so that those not needed are closed.
  const agent = new Agent({ keepAlive: true, maxSockets: mostConnections, scheduling: 'lifo' });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json' };

  return {
    post: (body) =>
      new Promise((resolve, reject) => {
        const fail = (cause: NodeJS.ErrnoException): void => {
          const unsent = cause.code !== undefined && unconnected.test(cause.code);
          const error = new StoreError(unsent ? 'the service cannot be reached' : 'the connection to the service was lost', {
            cause: unsent ? new NotDoneError(cause.message, { cause }) : cause,
          });
          reject(error);
        };
        const length = Buffer.byteLength(body);
        const sent = request(url, { method: 'POST', agent, headers: { ...headers, 'content-length': length } }, (response) => {
          read(
            response,
            (text) => {
              const { statusCode: status = 0 } = response;
              const json = jsonOf(text);
              if (status === 200) resolve(json);
              else {
                const why = mends[status] ?? wordsOf(json);
                const message = `the service answered ${status}${why === '' ? '' : `: ${why}`}`;
                reject(new StoreError(message, refusals.has(status) ? { cause: new NotDoneError(message) } : {}));
              }
            },
            fail,
          );
        });
        sent.setTimeout(timeoutMs, () => sent.destroy(new Error(`no answer within ${timeoutMs} ms`)));
        sent.on('error', fail);
        sent.end(body);
      }),
    close: () => agent.destroy(),
  };
}
