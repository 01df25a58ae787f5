import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Seen } from './address.js';
import type { Ending } from './types.js';

/** What Node's request says of its client. */
export const seenByNode = (message: IncomingMessage): Seen => ({ message, socketAddress: message.socket.remoteAddress });

/** For each connection what waits for its end: one listener a socket, as many responses follow one another on it. */
const waiting = new WeakMap<Socket, Set<() => void>>();

function waitersOf(socket: Socket): Set<() => void> {
  const known = waiting.get(socket);
  if (known !== undefined) return known;
  const waiters = new Set<() => void>();
  waiting.set(socket, waiters);
  socket.once('close', () => {
    for (const waiter of waiters) waiter();
  });
  return waiters;
}

/**
 * Calls back once when a response has been sent, or cannot be any more. Responses queued behind another on the same connection (pipelining)
 * get no `close` of their own when it breaks, so the socket is heard, too.
 */
export function whenEnded(request: IncomingMessage, response: ServerResponse, callback: (ending: Ending) => void): void {
  const { socket } = request;
  const stop = (aborted: boolean): void => {
    waiters.delete(end);
    response.off('finish', sent).off('close', end);
    callback({ status: response.statusCode, aborted });
  };
  const sent = (): void => stop(false);
  const end = (): void => stop(!response.writableFinished);
  const waiters = waitersOf(socket);
  // The client may have left while the decision was made: nothing more is heard of it then.
  if (response.destroyed || socket.destroyed) return end();
  waiters.add(end);
  // Both: responses that are injected into a framework by its tests finish, though nothing was written to a socket.
  response.once('finish', sent).once('close', end);
}
