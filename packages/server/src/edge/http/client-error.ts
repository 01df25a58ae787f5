import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { problemContentType } from 'headgate/http';
import { plainProblem } from './errors.js';

const statuses: Record<string, number> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 };

function write(socket: Socket, status: number, isHead: boolean): void {
  const body = JSON.stringify(plainProblem(status));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    `content-type: ${problemContentType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    'connection: close',
  ];
  if (socket.writable) socket.write(`${head.join('\r\n')}\r\n\r\n${isHead ? '' : body}`);
  socket.destroySoon();
}

/** What Node keeps on a connection: the answer whose turn it is, and the request that is being read, from the end of its head on. */
interface Connection {
  readonly _httpMessage?: ServerResponse | null;
  readonly parser?: { readonly incoming: IncomingMessage | null } | null;
}

const failed = new WeakSet<Socket>();

/**
 * Answers what is no HTTP, or comes too slowly: no request object exists yet, so the answer is written by hand. It waits for those of the whole
 * requests before it on the connection, else it would be taken for theirs.
 */
export function answerClientError(error: Error & { code?: string; rawPacket?: unknown }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (failed.has(socket)) return;
  failed.add(socket);
  const status = statuses[error.code ?? ''] ?? 400;
  // Its head was not read to the end: what is known of it are the bytes in which the fault is.
  const isHead = Buffer.isBuffer(error.rawPacket) && error.rawPacket.subarray(0, 5).toString('latin1') === 'HEAD ';
  const { parser } = socket as Connection;
  const answer = (): void => {
    const { _httpMessage: turn } = socket as Connection;
    const isAnswered = turn ? turn.headersSent : parser?.incoming?.complete === false;
    if (turn?.req.complete) turn.once('close', answer);
    // A second answer would be taken for a part of the first, or for that to the next request.
    else if (isAnswered) socket.destroySoon();
    else write(socket, status, isHead);
  };
  answer();
}

/** Answers `Expect` with anything but `100-continue`. */
export function refuseExpectation(response: ServerResponse): void {
  const body = JSON.stringify(plainProblem(417, { detail: 'only Expect: 100-continue is known' }));
  const head = { 'content-type': problemContentType, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' };
  response.writeHead(417, { ...head, connection: 'close' }).end(body);
}
