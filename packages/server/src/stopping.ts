import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** So long after the last connection was taken, requests on those that are kept are answered, in milliseconds: a client may just have sent one. */
const lastCallMs = 250;
/** A connection on which nothing ever came is waited for so long, in milliseconds. */
const silentMs = 1000;
const lookEveryMs = 20;

/** The connections of a server that are open, those in the middle of a TLS handshake as well, which Node does not tell of. */
export function openConnections(server: Server): ReadonlySet<Socket> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return open;
}

export interface Stopping {
  readonly server: Server;
  /** Servers that hand their connections to it. */
  readonly beside: readonly NetServer[];
  readonly open: ReadonlySet<Socket>;
  /** How long requests in flight may take, in milliseconds. */
  readonly withinMs: number;
}

/**
 * Takes no more connections, lets requests in flight be answered, and closes what is idle. Answers how many connections were cut in the end.
 * Who calls it has answers say `Connection: close`, else a client in steady use keeps its connection busy until it is cut.
 */
export async function stopTaking({ server, beside, open, withinMs }: Stopping): Promise<number> {
  // Node's own `close` would cut idle connections at once, also those whose next request is on its way.
  for (const one of [server, ...beside]) NetServer.prototype.close.call(one);
  const begun = performance.now();
  const passed = (): number => performance.now() - begun;
  while (open.size > 0 && passed() < withinMs) {
    await sleep(lookEveryMs);
    if (passed() >= lastCallMs) server.closeIdleConnections();
    if (passed() >= silentMs) for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  }
  const cut = open.size;
  for (const socket of open) socket.destroy();
  return cut;
}
