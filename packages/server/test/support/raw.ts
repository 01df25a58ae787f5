import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { later } from './service.js';

/** What came back on a connection: `closed` once the other side ended it, be it by a reset. */
export interface Raw {
  readonly socket: Socket;
  readonly received: () => string;
  /** Resolves with `end`, or with the code of an error such as `ECONNRESET`. */
  readonly closed: Promise<string>;
  isClosed(): boolean;
  /** Waits until what came back matches; rejects if it is closed before. */
  until(pattern: RegExp): Promise<string>;
}

/** A connection of its own, whose bytes the test writes. */
export async function raw(url: string, { reads = true }: { readonly reads?: boolean } = {}): Promise<Raw> {
  const { port, hostname } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, noDelay: true });
  later(() => socket.destroy());
  let [text, isClosed, failure] = ['', false, 'end'];
  socket.on('error', (error: NodeJS.ErrnoException) => (failure = error.code ?? error.message));
  if (reads) socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  const closed = new Promise<string>((resolve) => {
    socket.once('close', () => {
      isClosed = true;
      resolve(failure);
    });
  });
  await Promise.race([once(socket, 'connect'), closed]);
  return {
    socket,
    received: () => text,
    closed,
    isClosed: () => isClosed,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!pattern.test(text)) return;
          socket.off('data', look);
          resolve(text);
        };
        socket.on('data', look);
        void closed.then(() =>
          pattern.test(text) ? resolve(text) : reject(new Error(`closed after ${JSON.stringify(text.slice(0, 200))}`)),
        );
        look();
      }),
  };
}

export const getting = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;

/** A check whose body comes later: its head, and its body. */
export function slowCheck(rule = 'search'): { readonly head: string; readonly body: string } {
  const body = JSON.stringify({ rule, key: 'k' });
  return { head: `POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`, body };
}
