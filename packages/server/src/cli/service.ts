import { Agent, request as overHttp, type RequestOptions } from 'node:http';
import { Agent as TlsAgent, request as overHttps } from 'node:https';
import type { clientSettings } from '../settings/client.js';
import type { ValuesOf } from '../settings/setting.js';
import { noAnswer, notDone, ServiceError } from './service-error.js';
import { exitCodes } from './exit-codes.js';

export type ClientValues = ValuesOf<typeof clientSettings>;

/** Part of a path, with whatever a key may hold: a key of only dots too is no folder. */
export const inPath = (text: string): string => encodeURIComponent(text).replace(/^\.+$/, (dots) => dots.replaceAll('.', '%2E'));

/** A query of what is there. */
export function query(fields: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)] as const]));
  return given.length === 0 ? '' : `?${new URLSearchParams(Object.fromEntries(given)).toString()}`;
}

/** A running service. */
export interface Service {
  /** As errors name it. */
  readonly url: string;
  /**
   * One request; answers its JSON, undefined if there is none.
   *
   * @throws ServiceError
   */
  ask(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<unknown>;
}

/** What no answer of ours is larger than. */
const largestAnswer = 64 * 1024 * 1024;

function parsed(text: string, contentType = ''): unknown {
  if (!/^application\/(problem\+)?json\b/.test(contentType)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly contentType: string | undefined;
}

function exchange(url: URL, options: RequestOptions & { readonly ca?: string | undefined }, body: string | undefined): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = (url.protocol === 'https:' ? overHttps : overHttp)(options, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > largestAnswer) response.destroy(new Error('the answer is too large'));
        else chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode: status = 0, headers } = response;
        resolve({ status, text: Buffer.concat(chunks).toString('utf8'), contentType: headers['content-type'] });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Asks a service over connections that are kept, `connections` at most; closes them after the work. */
export async function withService<T>(
  { url, token, ca, timeout }: ClientValues,
  work: (service: Service) => Promise<T>,
  connections = 1,
): Promise<T> {
  const shown = url.href.replace(/\/$/, '');
  const keeping = { keepAlive: true, maxSockets: connections };
  const agent = url.protocol === 'https:' ? new TlsAgent({ ...keeping, ...(ca !== undefined && { ca }) }) : new Agent(keeping);

  async function ask(method: string, path: string, body?: unknown): Promise<unknown> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      accept: 'application/json, application/problem+json',
      ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    };
    const signal = AbortSignal.timeout(timeout);
    const to = {
      protocol: url.protocol,
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port,
      path: url.pathname.replace(/\/$/, '') + path,
    };
    const answer = await exchange(url, { ...to, method, headers, agent, signal }, text).catch((error: unknown) => {
      if (signal.aborted)
        throw new ServiceError(
          exitCodes.unavailable,
          `${shown}: no answer within ${timeout} ms; is it the right --url, or --timeout too short?`,
        );
      throw noAnswer(shown, error as NodeJS.ErrnoException);
    });
    const { status } = answer;
    if (status === 204) return undefined;
    const json = parsed(answer.text, answer.contentType);
    if (status >= 200 && status < 300 && json !== undefined) return json;
    throw notDone(shown, { status, problem: json });
  }

  try {
    return await work({ url: shown, ask });
  } finally {
    agent.destroy();
  }
}
