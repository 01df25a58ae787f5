import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { later } from './service.js';

/** What came back on a connection: `closed` once the other side ended it, be it by a reset. */
export interface Raw {
  readonly socket: Socket;
  readonly received: () => string;
  readonly closed: Promise<void>;
  isClosed(): boolean;
  /** Waits until what came back matches; rejects if it is closed before. */
  until(pattern: RegExp): Promise<string>;
}

/** A connection of its own, whose bytes the test writes. */
export async function raw(url: string, { reads = true }: { readonly reads?: boolean } = {}): Promise<Raw> {
  const { port, hostname } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, noDelay: true });
  later(() => socket.destroy());
  let [text, isClosed] = ['', false];
  socket.on('error', () => undefined);
  if (reads) socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      isClosed = true;
      resolve();
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
