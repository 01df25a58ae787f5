import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { later } from '../support/service.js';
import type { Fuzzed } from './request.js';

export interface Received {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** An answer is there within so long, in milliseconds; what takes longer hangs. */
export const patienceMs = 2000;

/** The first answer in what came, if it is all there, and how many bytes it has. */
function parse(bytes: Buffer, isHead: boolean): { readonly received: Received; readonly length: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [line = '', ...rest] = bytes.toString('latin1', 0, end).split('\r\n');
  const headers = new Map(
    rest.map((field) => [field.slice(0, field.indexOf(':')).toLowerCase(), field.slice(field.indexOf(':') + 1).trim()]),
  );
  const status = Number(line.split(' ')[1]);
  const size = isHead || status === 204 || status === 304 ? 0 : Number(headers.get('content-length') ?? 'NaN');
  if (Number.isNaN(size)) throw new Error(`an answer whose length is not told: ${line}`);
  if (bytes.length < end + 4 + size) return undefined;
  return { received: { status, headers, body: bytes.toString('utf8', end + 4, end + 4 + size) }, length: end + 4 + size };
}

/** Sends requests as they are, one after the other on a connection that is kept as long as it is let. */
export function fuzzClient(url: string): (request: Fuzzed) => Promise<Received> {
  let socket: Socket | undefined;
  later(() => socket?.destroy());

  async function connected(): Promise<Socket> {
    if (socket !== undefined && !socket.destroyed && socket.writable) return socket;
    socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', noDelay: true });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  }

  return async ({ method, target, headers, body }) => {
    const to = await connected();
    const fields = [['host', '127.0.0.1'], ...headers, ...(body === undefined ? [] : [['content-length', String(body.length)]])];
    const head = `${method} ${target} HTTP/1.1\r\n${fields.map(([name = '', value = '']) => `${name}: ${value}\r\n`).join('')}\r\n`;
    return new Promise((resolve, reject) => {
      let bytes = Buffer.alloc(0);
      const timer = setTimeout(() => end(new Error(`no answer in ${patienceMs} ms; so far ${bytes.toString('latin1')}`)), patienceMs);
      const end = (outcome: Received | Error): void => {
        clearTimeout(timer);
        to.off('data', look).off('close', onClose);
        if (outcome instanceof Error) to.destroy();
        else if (outcome.headers.get('connection') === 'close') to.destroy();
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      };
      const look = (chunk: Buffer): void => {
        bytes = Buffer.concat([bytes, chunk]);
        try {
          const parsed = parse(bytes, method === 'HEAD');
          if (parsed === undefined) return;
          const tooMuch = bytes.subarray(parsed.length).toString('latin1');
          // Of a head that comes in several parts the server does not know that it is of a HEAD; it then closes after its answer.
          const isLast =
            method === 'HEAD' && [400, 431].includes(parsed.received.status) && parsed.received.headers.get('connection') === 'close';
          end(tooMuch === '' || isLast ? parsed.received : new Error(`more than an answer: ${tooMuch}`));
        } catch (error) {
          end(error as Error);
        }
      };
      const onClose = (): void => end(new Error('closed without an answer'));
      to.on('data', look).once('close', onClose);
      to.write(head, 'latin1');
      if (body !== undefined) to.write(body);
    });
  };
}
