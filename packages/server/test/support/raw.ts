import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'vitest';
import { later } from './service.js';

/** A connection whose bytes are seen. */
export interface Raw {
  readonly socket: Socket;
  readonly said: () => string;
  send(text: string): void;
  /** Resolves with `end`, or with the code of an error such as `ECONNRESET`. */
  readonly closed: Promise<string>;
  /** Resolves when the answer has this in it. */
  saying(text: string): Promise<void>;
}

export async function raw(url: string): Promise<Raw> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  later(() => socket.destroy());
  let [said, failure] = ['', 'end'];
  socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
  socket.on('error', (error: NodeJS.ErrnoException) => (failure = error.code ?? error.message));
  const closed = once(socket, 'close').then(() => failure);
  await once(socket, 'connect');
  return {
    socket,
    closed,
    said: () => said,
    send: (text) => void socket.write(text),
    saying: (text) => expect.poll(() => said, { timeout: 5000, interval: 5 }).toContain(text),
  };
}

export const getting = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;

/** A check whose body comes later: its head, and its body. */
export function slowCheck(rule = 'search'): { readonly head: string; readonly body: string } {
  const body = JSON.stringify({ rule, key: 'k' });
  return { head: `POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`, body };
}
