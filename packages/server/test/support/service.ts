import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request, type OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { startApp, type App } from '../../src/app.js';
import { readConfig } from '../../src/config.js';
import { httpBounds, type HttpBounds } from '../../src/edge/http/bounds.js';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** Runs after the test, the last first. */
export const later = (close: () => unknown): void => void open.push(close);

export function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-server-'));
  later(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A rules file in a folder of its own. */
export function rulesFile(text: string, name = 'rules.yaml'): string {
  const file = join(temporary(), name);
  writeFileSync(file, text);
  return file;
}

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | undefined>;
  readonly text: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly json: any;
}

export interface Asking {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
}

/** One request over a connection of its own. */
export function ask(url: string, { method = 'GET', headers = {}, body }: Asking = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: headers as OutgoingHttpHeaders, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        const isJson = /json/.test(response.headers['content-type'] ?? '');
        const { statusCode: status = 0, headers: fields } = response;
        resolve({ status, headers: fields as Answer['headers'], text, json: isJson && text !== '' ? JSON.parse(text) : undefined });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

export interface Started {
  readonly app: App;
  readonly url: string;
  get(path: string, asking?: Asking): Promise<Answer>;
  post(path: string, body: unknown): Promise<Answer>;
}

export interface Starting {
  /** The text of the rules file; the sample if absent. */
  readonly rules?: string;
  readonly file?: string;
  /** As `--redis` takes it: a URL, or several of `NAME=URL`. */
  readonly redis?: string | readonly string[];
  /** Further flags, and variables of the environment. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly secret?: string;
  /** A free one by default. */
  readonly port?: number;
  /** Generous by default: tests run beside each other, on two cores. */
  readonly deadline?: string;
  /** Those of clients that differ from the usual. */
  readonly bounds?: Partial<HttpBounds>;
}

/** The service on a free port, closed after the test. */
export async function start({
  rules,
  file,
  redis = [],
  flags = [],
  env,
  secret,
  port = 0,
  deadline = '2s',
  bounds,
}: Starting = {}): Promise<Started> {
  const path = file ?? (rules === undefined ? undefined : rulesFile(rules));
  const servers = [redis].flat().flatMap((server) => ['--redis', server]);
  const args = ['--http-port', String(port), ...(path === undefined ? [] : ['--rules', path]), ...servers, ...flags];
  const variables = {
    HEADGATE_LOG_LEVEL: 'silent',
    HEADGATE_DEADLINE: deadline,
    ...(secret === undefined ? undefined : { HEADGATE_SECRET: secret }),
    ...env,
  };
  const app = await startApp(readConfig(args, variables), { bounds: { ...httpBounds, ...bounds } });
  later(() => app.close());
  return {
    app,
    url: app.url,
    get: (to, asking) => ask(app.url + to, asking),
    post: (to, body) =>
      ask(app.url + to, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
  };
}
