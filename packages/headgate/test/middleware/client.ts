import { once } from 'node:events';
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';

export interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly json?: unknown;
  readonly agent?: Agent;
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** How often each field was sent. */
  readonly lines: (name: string) => number;
  readonly body: string;
}

const closing = new Agent({ keepAlive: false });

function open(port: number, { method = 'GET', headers = {}, json, agent = closing }: Asked): ClientRequest {
  const body = json === undefined ? undefined : JSON.stringify(json);
  const typed = body === undefined ? headers : { 'content-type': 'application/json', 'content-length': `${body.length}`, ...headers };
  const sent = request({ host: '127.0.0.1', port, path: '/', method, headers: typed, agent });
  sent.end(body);
  return sent;
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return text;
}

async function answerOf(response: IncomingMessage): Promise<Answered> {
  const body = await textOf(response);
  const lines = (name: string): number => response.rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === name).length;
  return { status: response.statusCode ?? 0, headers: response.headers, lines, body };
}

/** Sends one request, and reads all of the answer. */
export async function send(port: number, asked: Asked = {}): Promise<Answered> {
  const sent = open(port, asked);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return answerOf(response);
}

/** Sends a request, reads the answer's beginning, and leaves. */
export async function sendAndLeaveMidway(port: number): Promise<void> {
  const sent = open(port, {});
  sent.on('error', () => undefined);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  await once(response, 'data');
  sent.destroy();
}

/** Sends a request; what it returns leaves before there is an answer. */
export function sendAndWait(port: number): { leave(): void; readonly answer: Promise<Answered> } {
  const sent = open(port, {});
  const answer = once(sent, 'response').then(([response]) => answerOf(response as IncomingMessage));
  answer.catch(() => undefined);
  return { leave: () => void sent.destroy(), answer };
}

const line = 'GET / HTTP/1.1\r\nHost: headgate.test\r\n\r\n';

/** Sends so many requests at once on one connection, without awaiting answers. */
export async function pipeline(port: number, times: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(line.repeat(times));
  return socket;
}

/** The statuses of so many answers that come on a connection. */
export async function statusesOn(socket: Socket, times: number): Promise<number[]> {
  let text = '';
  const statuses = (): number[] => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
  for await (const chunk of socket.setEncoding('utf8')) {
    text += chunk;
    if (statuses().length >= times) break;
  }
  return statuses();
}

/** Asks until it is so, for at most ten seconds: what happens after an answer, or over a connection, takes a moment. */
export async function eventually(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const until = performance.now() + 10_000;
  while (!(await isSo())) {
    if (performance.now() > until) throw new Error(`did not happen within 10 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
